//! The derive of `Counts`.

use proc_macro2::TokenStream as Code;
use quote::quote;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, Field, Ident, Lit, LitStr, Meta, Result, parse_quote,
};

/// The words that a field has in `#[counts(...)]`.
#[derive(Default)]
struct Words {
    now: bool,
    flat: bool,
    unit: Option<LitStr>,
    words: Option<LitStr>,
    stat: Option<LitStr>,
}

impl Words {
    fn of(field: &Field) -> Result<Self> {
        let mut words = Self::default();
        for attr in field.attrs.iter().filter(|attr| attr.path().is_ident("counts")) {
            attr.parse_nested_meta(|meta| {
                match meta.path.get_ident().map(Ident::to_string).as_deref() {
                    Some("now") => words.now = true,
                    Some("flat") => words.flat = true,
                    Some("unit") => words.unit = Some(meta.value()?.parse()?),
                    Some("words") => words.words = Some(meta.value()?.parse()?),
                    Some("stat") => words.stat = Some(meta.value()?.parse()?),
                    _ => return Err(meta.error("expected now, flat, unit, words or stat")),
                }
                Ok(())
            })?;
        }
        Ok(words)
    }
}

pub fn derived(input: &DeriveInput) -> Result<Code> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "only a struct has counts"));
    };
    let members: Vec<_> = data.fields.members().collect();
    let words = data.fields.iter().map(Words::of).collect::<Result<Vec<_>>>()?;
    let since = words.iter().zip(&members).map(|(words, member)| match words.now {
        true => quote!(::core::clone::Clone::clone(&self.#member)),
        false => quote!(::flashgc_base::counts::Counts::since(&self.#member, &earlier.#member)),
    });
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
    let mut fields = data.fields.iter().zip(&words);
    if fields.any(|(field, words)| !words.flat && field.ty != parse_quote!(u64)) {
        return Ok(counts);
    }
    let text = text_of(&input.attrs);
    let (mut length, mut list, mut numbers, mut of) = (vec![], vec![], vec![], vec![]);
    for ((field, words), member) in data.fields.iter().zip(&words).zip(&members) {
        let ty = &field.ty;
        if words.now {
            of.push(quote!(0));
        } else if words.flat {
            let listed = quote!(<#ty as ::flashgc_base::counts::Listed>);
            length.push(quote!(#listed::LENGTH));
            list.push(quote!(list.extend(#listed::list());));
            numbers.push(quote!(numbers.extend(#listed::numbers(&self.#member));));
            of.push(quote!(#listed::of(numbers)?));
        } else {
            length.push(quote!(1));
            list.push(count(field, words));
            numbers.push(quote!(numbers.push(self.#member);));
            of.push(quote!(numbers.next()?));
        }
    }
    Ok(quote! {
        #counts

        #[automatically_derived]
        impl ::flashgc_base::counts::Listed for #name {
            const TEXT: &'static str = #text;
            const LENGTH: usize = 0 #(+ #length)*;

            fn list() -> ::std::vec::Vec<::flashgc_base::counts::Count> {
                let mut list = ::std::vec::Vec::with_capacity(Self::LENGTH);
                #(#list)*
                list
            }

            fn numbers(&self) -> ::std::vec::Vec<u64> {
                let mut numbers = ::std::vec::Vec::with_capacity(Self::LENGTH);
                #(#numbers)*
                numbers
            }

            fn of(numbers: &mut dyn Iterator<Item = u64>) -> Option<Self> {
                Some(Self { #(#members: #of),* })
            }
        }
    })
}

/// Returns the code that adds a field to the list.
fn count(field: &Field, words: &Words) -> Code {
    let name = field.ident.as_ref().map(Ident::to_string).unwrap_or_default();
    let or = |word: &Option<LitStr>, usual: &str| word.as_ref().map_or(usual.into(), LitStr::value);
    let (text, unit, stat) = (text_of(&field.attrs), or(&words.unit, ""), or(&words.stat, &name));
    let words = or(&words.words, &name.replace('_', " "));
    quote! {
        list.push(::flashgc_base::counts::Count {
            name: #name,
            text: #text,
            unit: #unit,
            words: #words,
            stat: #stat,
        });
    }
}

/// Returns a doc comment, each paragraph as one line.
pub(crate) fn text_of(attrs: &[Attribute]) -> String {
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
    attrs.iter().filter_map(line).collect::<Vec<_>>().join(" ").replace("  ", "\n\n")
}
