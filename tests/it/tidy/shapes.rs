//! Names of types, and tuples where names belong: counted in the syntax of the code that is not a test.

use std::collections::BTreeMap;

use syn::visit::{Visit, visit_item_fn, visit_item_mod, visit_local, visit_signature};
use syn::{Expr, FnArg, ItemFn, ItemMod, Local, Pat, Signature};

use super::imports::{is_for_tests, is_test};

/// What is counted.
#[derive(Default)]
pub(super) struct Shapes {
    /// Type → the files that declare one of this name.
    pub types: BTreeMap<String, Vec<String>>,
    /// Functions with a tuple pattern for a parameter.
    pub tuple_parameters: Vec<String>,
    /// Files with a `let (a, b) = (x, y)`, once for each.
    pub tuple_lets: Vec<String>,
    file: String,
}

/// Those of the library.
pub(super) fn shapes() -> Shapes {
    let mut shapes = Shapes::default();
    for (file, text) in super::all_sources() {
        // The patterns of Python are a library of their own, with its own names.
        let is_ours = file.starts_with("src/") || file.starts_with("crates/evalrs-");
        if is_ours && !is_test(&file) {
            let code = syn::parse_file(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
            shapes.file = file;
            shapes.visit_file(&code);
        }
    }
    shapes
}

impl Shapes {
    fn declare(&mut self, name: &syn::Ident) {
        self.types.entry(name.to_string()).or_default().push(self.file.clone());
    }
}

impl<'ast> Visit<'ast> for Shapes {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !is_for_tests(&item.attrs) {
            visit_item_fn(self, item);
        }
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.declare(&item.ident);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.declare(&item.ident);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.declare(&item.ident);
        syn::visit::visit_item_trait(self, item);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.declare(&item.ident);
    }

    fn visit_signature(&mut self, signature: &'ast Signature) {
        let is_tuple = |input: &FnArg| matches!(input, FnArg::Typed(typed) if matches!(*typed.pat, Pat::Tuple(_)));
        if signature.inputs.iter().any(is_tuple) {
            self.tuple_parameters.push(format!("{} {}", self.file, signature.ident));
        }
        visit_signature(self, signature);
    }

    fn visit_local(&mut self, local: &'ast Local) {
        let pattern = match &local.pat {
            Pat::Type(typed) => &*typed.pat,
            pattern => pattern,
        };
        let is_tuple_value =
            local.init.as_ref().is_some_and(|init| matches!(*init.expr, Expr::Tuple(_)));
        // With `else` it matches two values at once.
        let is_match = local.init.as_ref().is_some_and(|init| init.diverge.is_some());
        if matches!(pattern, Pat::Tuple(_)) && is_tuple_value && !is_match {
            self.tuple_lets.push(self.file.clone());
        }
        visit_local(self, local);
    }
}
