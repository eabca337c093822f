//! The derive of `Counts`.

use proc_macro2::TokenStream as Code;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Error, Expr, Ident, Lit, Meta, Result, parse_quote};

pub fn derived(input: &DeriveInput) -> Result<Code> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "only a struct has counts"));
    };
    let members: Vec<_> = data.fields.members().collect();
    let mut since = Vec::new();
    for (field, member) in data.fields.iter().zip(&members) {
        let mut now = false;
        for attr in field.attrs.iter().filter(|attr| attr.path().is_ident("counts")) {
            let word: Ident = attr.parse_args()?;
            if word != "now" {
                return Err(Error::new(word.span(), "expected now"));
            }
            now = true;
        }
        since.push(match now {
            true => quote!(::core::clone::Clone::clone(&self.#member)),
            false => quote!(::flashgc_base::counts::Counts::since(&self.#member, &earlier.#member)),
        });
    }
    let name = &input.ident;
    let counts = quote! {
        #[automatically_derived]
        impl ::flashgc_base::counts::Counts for #name {
            fn since(&self, earlier: &Self) -> Self {
                Self { #(#members: #since),* }
            }

            fn plus(&self, other: &Self) -> Self {
                Self { #(#members: ::flashgc_base::counts::Counts::plus(&self.#members, &other.#members)),* }
            }
        }
    };
    if data.fields.iter().any(|field| field.ty != parse_quote!(u64)) {
        return Ok(counts);
    }
    let text = text_of(&input.attrs);
    let names = data.fields.iter().filter_map(|field| field.ident.as_ref()).map(Ident::to_string);
    let texts = data.fields.iter().map(|field| text_of(&field.attrs));
    Ok(quote! {
        #counts

        #[automatically_derived]
        impl ::flashgc_base::counts::Listed for #name {
            const TEXT: &'static str = #text;
            const NAMES: &'static [&'static str] = &[#(#names),*];
            const TEXTS: &'static [&'static str] = &[#(#texts),*];

            fn numbers(&self) -> ::std::vec::Vec<u64> {
                ::std::vec![#(self.#members),*]
            }

            fn of(numbers: impl IntoIterator<Item = u64>) -> Option<Self> {
                let mut numbers = numbers.into_iter();
                Some(Self { #(#members: numbers.next()?),* })
            }
        }
    })
}

/// Returns a doc comment as one line.
fn text_of(attrs: &[Attribute]) -> String {
    let line = |attr: &Attribute| match &attr.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(text) => match &text.lit {
                Lit::Str(text) => Some(text.value().trim().to_string()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    };
    attrs.iter().filter_map(line).collect::<Vec<_>>().join(" ")
}
