//! The derives of `flashgc_base`. From the declaration of a struct they make the code that writes
//! an object's state as bytes (`snapshot`), the arithmetic of counts (`counts`), and the
//! descriptions of results (`described`).
//!
//! A field of a state without `#[snapshot(...)]` is saved as a value. So a new field is saved, has
//! a word that says otherwise, or does not compile.

mod counts;
mod described;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Code;
use quote::quote;
use syn::spanned::Spanned;
use syn::{
    Data, DataEnum, DeriveInput, Error, Fields, Ident, LitStr, Member, Result, parse_macro_input,
    parse_quote,
};

/// Derives `State`: the object is made anew from its configuration and then overwritten.
///
/// Each field may have a word, `#[snapshot(WORD)]`:
///
/// - none: a value, which is replaced;
/// - `table`: a list of values that are overwritten, while the length of the list stays;
/// - `tables`: a list of such tables;
/// - `state`: a state itself;
/// - `skip`: not saved, since it belongs to the configuration or follows from the rest.
///
/// The struct may have `#[snapshot(named = "...")]`, the name of its section; `then = METHOD`,
/// which checks values that would do harm if wrong; and `refused = "..."`, the reason why it is
/// never saved. The bytes are those of the values, the tables, the lists of tables and the states,
/// each in the order of the fields.
#[proc_macro_derive(State, attributes(snapshot))]
pub fn state(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    state_of(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `Value`: the object is made from its bytes alone. The bytes of a struct are those of its
/// fields, in their order. A field with `#[snapshot(skip)]` is left out, and gets its default. The
/// struct may have `#[snapshot(then = METHOD)]`, which completes and checks it. The bytes of an
/// enum are the number of the variant, then its fields. A variant with fewer fields than the
/// longest variant has defaults in place of the missing fields.
#[proc_macro_derive(Value, attributes(snapshot))]
pub fn value(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    value_of(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `Counts`, and also `Listed` if every field is a `u64` or is marked `flat`.
#[proc_macro_derive(Counts, attributes(counts))]
pub fn counts(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    counts::derived(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `Described`; the documentation of that trait says more.
#[proc_macro_derive(Described, attributes(serde))]
pub fn described(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    described::derived(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// The words of a struct.
#[derive(Default)]
struct Words {
    named: Option<LitStr>,
    then: Option<Ident>,
    refused: Option<LitStr>,
}

impl Words {
    fn of(input: &DeriveInput) -> Result<Self> {
        let mut words = Self::default();
        for attr in input.attrs.iter().filter(|attr| attr.path().is_ident("snapshot")) {
            attr.parse_nested_meta(|meta| {
                if meta.path.is_ident("named") {
                    words.named = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("then") {
                    words.then = Some(meta.value()?.parse()?);
                } else if meta.path.is_ident("refused") {
                    words.refused = Some(meta.value()?.parse()?);
                } else {
                    return Err(meta.error("expected named, then or refused"));
                }
                Ok(())
            })?;
        }
        Ok(words)
    }
}

/// The fields of a state, by how they are saved.
#[derive(Default)]
struct Parts {
    values: Vec<Member>,
    table: Vec<Member>,
    tables: Vec<Member>,
    states: Vec<Member>,
    skipped: Vec<Member>,
}

impl Parts {
    fn of(fields: &Fields) -> Result<Self> {
        let mut parts = Self::default();
        for (field, member) in fields.iter().zip(fields.members()) {
            let mut word = None;
            for attr in field.attrs.iter().filter(|attr| attr.path().is_ident("snapshot")) {
                let next: Ident = attr.parse_args()?;
                if word.replace(next).is_some() {
                    return Err(Error::new(attr.span(), "a field has one word"));
                }
            }
            match word.as_ref().map(Ident::to_string).as_deref() {
                None => parts.values.push(member),
                Some("table") => parts.table.push(member),
                Some("tables") => parts.tables.push(member),
                Some("state") => parts.states.push(member),
                Some("skip") => parts.skipped.push(member),
                Some(_) => {
                    return Err(Error::new(word.span(), "expected table, tables, state or skip"));
                }
            }
        }
        Ok(parts)
    }
}

fn state_of(input: &DeriveInput) -> Result<Code> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.ident.span(), "only a struct is a state by its fields"));
    };
    let Words { named, then, refused } = Words::of(input)?;
    let Parts { values, table, tables, states, .. } = Parts::of(&data.fields)?;
    let mut generics = input.generics.clone();
    // If a field is saved as a state and its type has a type parameter, the parameter must be a
    // state, too. A bound that the struct declares itself stays.
    for (field, member) in data.fields.iter().zip(data.fields.members()) {
        let ty = &field.ty;
        let text = quote!(#ty).to_string();
        for param in generics.type_params_mut().filter(|param| param.bounds.is_empty()) {
            let name = param.ident.to_string();
            let has =
                text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name);
            if has && states.contains(&member) {
                param.bounds.push(parse_quote!(::flashgc_base::snapshot::State));
            }
        }
    }
    let (name, (params, of, bounds)) = (&input.ident, generics.split_for_impl());
    let (save, restore) = match refused {
        Some(why) => (
            quote!(to.refuse(::flashgc_base::snapshot::Fault::new(#why));),
            quote!(return Err(::flashgc_base::snapshot::Fault::new(#why));),
        ),
        None => (
            quote! {
                #(::flashgc_base::snapshot::Value::put(&self.#values, to);)*
                #(::flashgc_base::snapshot::save_table(&self.#table[..], to);)*
                #(for table in &self.#tables {
                    ::flashgc_base::snapshot::save_table(table, to);
                })*
                #(::flashgc_base::snapshot::State::save(&self.#states, to);)*
            },
            quote! {
                #(self.#values = ::flashgc_base::snapshot::Value::take(from)?;)*
                #(::flashgc_base::snapshot::restore_table(&mut self.#table[..], from)?;)*
                #(for table in &mut self.#tables {
                    ::flashgc_base::snapshot::restore_table(table, from)?;
                })*
                #(::flashgc_base::snapshot::State::restore(&mut self.#states, from)?;)*
            },
        ),
    };
    let (named, then) = (named.as_slice(), then.iter());
    Ok(quote! {
        #[automatically_derived]
        #[allow(unused_variables, unreachable_code)]
        impl #params ::flashgc_base::snapshot::State for #name #of #bounds {
            fn save(&self, to: &mut ::flashgc_base::snapshot::Writer<'_>) {
                #(to.section(#named);)*
                #save
            }

            fn restore(
                &mut self,
                from: &mut ::flashgc_base::snapshot::Reader<'_>,
            ) -> ::core::result::Result<(), ::flashgc_base::snapshot::Fault> {
                #(from.section(#named)?;)*
                #restore
                #(self.#then()?;)*
                Ok(())
            }
        }
    })
}

fn value_of(input: &DeriveInput) -> Result<Code> {
    let (put, take) = match &input.data {
        Data::Struct(data) => {
            let Words { then, .. } = Words::of(input)?;
            let Parts { values, skipped, .. } = Parts::of(&data.fields)?;
            let then = then.iter();
            (
                quote!(#(::flashgc_base::snapshot::Value::put(&self.#values, to);)*),
                quote! {
                    let mut object = Self {
                        #(#values: ::flashgc_base::snapshot::Value::take(from)?,)*
                        #(#skipped: ::core::default::Default::default(),)*
                    };
                    #(object.#then()?;)*
                    Ok(object)
                },
            )
        }
        Data::Enum(data) => of_variants(&input.ident, data)?,
        Data::Union(_) => return Err(Error::new(input.ident.span(), "a union has no bytes")),
    };
    let (name, (params, of, bounds)) = (&input.ident, input.generics.split_for_impl());
    Ok(quote! {
        #[automatically_derived]
        #[allow(unused_mut)]
        impl #params ::flashgc_base::snapshot::Value for #name #of #bounds {
            fn put(&self, to: &mut ::flashgc_base::snapshot::Writer<'_>) {
                #put
            }

            fn take(
                from: &mut ::flashgc_base::snapshot::Reader<'_>,
            ) -> ::core::result::Result<Self, ::flashgc_base::snapshot::Fault> {
                #take
            }
        }
    })
}

/// Returns the code that writes an enum of these variants, and the code that reads it.
fn of_variants(name: &Ident, data: &DataEnum) -> Result<(Code, Code)> {
    let longest = data.variants.iter().max_by_key(|variant| variant.fields.len());
    let types: Vec<_> =
        longest.iter().flat_map(|variant| &variant.fields).map(|field| &field.ty).collect();
    let (mut puts, mut takes) = (Vec::new(), Vec::new());
    for (number, variant) in (0..=u8::MAX).zip(&data.variants) {
        let word = &variant.ident;
        let fields: Vec<_> = variant.fields.iter().zip(["a", "b", "c", "d"]).collect();
        if matches!(variant.fields, Fields::Named(_)) || fields.len() < variant.fields.len() {
            return Err(Error::new(variant.span(), "expected at most four fields without names"));
        }
        let names: Vec<_> =
            fields.iter().map(|(_, name)| Ident::new(name, variant.span())).collect();
        let rest = &types[names.len()..];
        let of = (!names.is_empty()).then(|| quote!((#(#names),*)));
        puts.push(quote! {
            Self::#word #of => {
                ::flashgc_base::snapshot::Value::put(&#number, to);
                #(::flashgc_base::snapshot::Value::put(#names, to);)*
                #(<#rest as ::flashgc_base::snapshot::Value>::put(
                    &::core::default::Default::default(), to);)*
            }
        });
        takes.push(quote! {
            #number => {
                #(let #names = ::flashgc_base::snapshot::Value::take(from)?;)*
                #(<#rest as ::flashgc_base::snapshot::Value>::take(from)?;)*
                Ok(Self::#word #of)
            }
        });
    }
    let fault = format!("{{}} names no {name}");
    let put = quote!(match self { #(#puts)* });
    let take = quote! {
        match <u8 as ::flashgc_base::snapshot::Value>::take(from)? {
            #(#takes)*
            other => Err(::flashgc_base::snapshot::Fault::new(
                ::std::format!(#fault, other),
            )),
        }
    };
    Ok((put, take))
}
