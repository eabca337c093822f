//! The derive of `Described`.

use proc_macro2::TokenStream as Code;
use quote::{ToTokens, quote};
use syn::{Data, DeriveInput, Error, Expr, Field, Ident, Result};

use crate::counts::text_of;

/// The words of a field for serde that change its place in the document.
#[derive(Default)]
struct Words {
    skip: bool,
    flatten: bool,
    skip_serializing_if: bool,
}

impl Words {
    fn of(field: &Field) -> Result<Self> {
        let mut words = Self::default();
        for attr in field.attrs.iter().filter(|attr| attr.path().is_ident("serde")) {
            attr.parse_nested_meta(|meta| {
                match meta.path.get_ident().map(Ident::to_string).as_deref() {
                    Some("skip") => words.skip = true,
                    Some("flatten") => words.flatten = true,
                    Some("skip_serializing_if") => words.skip_serializing_if = true,
                    Some("default" | "deserialize_with") => {}
                    _ => return Err(meta.error("a word that Described does not know")),
                }
                if meta.input.peek(syn::Token![=]) {
                    meta.value()?.parse::<Expr>()?;
                }
                Ok(())
            })?;
        }
        Ok(words)
    }
}

pub fn derived(input: &DeriveInput) -> Result<Code> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "only a struct is described"));
    };
    let mut fields = vec![];
    for field in &data.fields {
        let words = Words::of(field)?;
        if words.skip {
            continue;
        }
        let name = field.ident.as_ref().map(Ident::to_string).unwrap_or_default();
        let kind = field.ty.to_token_stream().to_string().replace(' ', "");
        let text = text_of(&field.attrs);
        let (is_flat, is_optional) = (words.flatten, words.skip_serializing_if);
        fields.push(quote! {
            ::flashgc_base::described::Field {
                name: #name,
                kind: #kind,
                text: #text,
                is_flat: #is_flat,
                is_optional: #is_optional,
            }
        });
    }
    let (name, text) = (&input.ident, text_of(&input.attrs));
    Ok(quote! {
        #[automatically_derived]
        impl ::flashgc_base::described::Described for #name {
            const TEXT: &'static str = #text;
            const FIELDS: &'static [::flashgc_base::described::Field] = &[#(#fields),*];
        }
    })
}
