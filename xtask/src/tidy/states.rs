//! The states that the session of a prompt owns.

use std::collections::BTreeSet;

use syn::visit::{self, Visit};

use super::Problem;
use crate::workspace::File;

/// The module whose session owns them.
const MODULE: &str = "crates/unforget-engine/src/prompt/";

/// The type that orders them: its own methods may see all of them.
const ORDER: &str = "Session";

/// Their types.
const STATES: [&str; 5] = ["Source", "Window", "Cover", "Fixed", "Account"];

/// Their names in the session.
const FIELDS: [&str; 5] = ["source", "window", "cover", "fixed", "account"];

/// Most states that any other function takes, its own one included.
const MOST: usize = 2;

/// Most methods of the session that touch more states than that: the order of the steps. Fewer are better, and then this
/// number goes down.
const ORDERS_MAX: usize = 27;

/// Functions that take more states than they should: then a change of one state has to be understood with all others.
pub(super) fn check(files: &[File]) -> Vec<Problem> {
    let (mut problems, mut orders) = (Vec::new(), Vec::new());
    for file in files.iter().filter(|file| file.path.starts_with(MODULE)) {
        // What cannot be parsed is told elsewhere.
        let Ok(syntax) = syn::parse_file(&file.text) else { continue };
        let mut found =
            Functions { path: &file.path, of: None, problems: &mut problems, orders: &mut orders };
        found.visit_file(&syntax);
    }
    if orders.len() > ORDERS_MAX {
        let names = orders.join(", ");
        problems.push(format!(
            "{MODULE}: {} methods of `{ORDER}` touch more than {MOST} of its states, {ORDERS_MAX} may: {names}",
            orders.len()
        ));
    }
    problems
}

/// The functions of a file.
struct Functions<'a> {
    path: &'a str,
    /// The type that is being implemented.
    of: Option<String>,
    problems: &'a mut Vec<Problem>,
    /// Methods of the session that touch more than two states.
    orders: &'a mut Vec<String>,
}

impl Functions<'_> {
    fn look(&mut self, signature: &syn::Signature) {
        let mut taken = Taken { own: self.of.clone(), states: Vec::new() };
        signature.inputs.iter().for_each(|input| taken.visit_fn_arg(input));
        if taken.states.len() > MOST {
            self.problems.push(format!(
                "{}:{}: `{}` takes {}: at most {MOST} of the states. Let `{ORDER}` call one after the other",
                self.path,
                signature.ident.span().start().line,
                signature.ident,
                taken.states.join(", ")
            ));
        }
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let outer = self.of.take();
        self.of = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        visit::visit_item_impl(self, item);
        self.of = outer;
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.look(&item.sig);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if self.of.as_deref() != Some(ORDER) {
            return self.look(&item.sig);
        }
        let mut touched = Touched { states: BTreeSet::new() };
        touched.visit_block(&item.block);
        if touched.states.len() > MOST {
            self.orders.push(item.sig.ident.to_string());
        }
    }
}

/// The states of `self` that a body touches.
struct Touched {
    states: BTreeSet<String>,
}

impl<'ast> Visit<'ast> for Touched {
    fn visit_expr_field(&mut self, field: &'ast syn::ExprField) {
        let is_own = matches!(&*field.base, syn::Expr::Path(base) if base.path.is_ident("self"));
        if let syn::Member::Named(name) = &field.member
            && is_own
            && FIELDS.iter().any(|field| name == field)
        {
            self.states.insert(name.to_string());
        }
        visit::visit_expr_field(self, field);
    }
}

/// The states that a function takes.
struct Taken {
    /// The type whose method the function is.
    own: Option<String>,
    states: Vec<String>,
}

impl Taken {
    fn note(&mut self, name: String) {
        if STATES.contains(&name.as_str()) && !self.states.contains(&name) {
            self.states.push(name);
        }
    }
}

impl<'ast> Visit<'ast> for Taken {
    fn visit_receiver(&mut self, _: &'ast syn::Receiver) {
        if let Some(own) = self.own.clone() {
            self.note(own);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let Some(last) = path.segments.last() {
            let name = last.ident.to_string();
            self.note(if name == "Self" { self.own.clone().unwrap_or_default() } else { name });
        }
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takers_of_states() {
        let table = [
            ("impl Cover { fn f(&self, window: &Window) {} }", 0, "two"),
            ("impl Cover { fn f(&self, window: &Window, source: &Source) {} }", 1, "three with its own"),
            ("impl Cover { fn f(window: &Window, source: &Source) -> Self { todo!() } }", 0, "not its own"),
            ("impl Cover { fn f(&self, other: &Self, window: &mut Window) {} }", 0, "one of them twice"),
            ("fn f(a: &Cover, b: &super::window::Window, c: Option<&Fixed>) {}", 1, "a free function"),
            ("impl Session { fn f(&self, a: &Cover, b: &Window, c: &Fixed) {} }", 0, "the order"),
            ("fn f(sources: &[Source], window: &Window, shape: &Shape) {}", 0, "a shape is no state"),
        ];
        for (text, want, why) in table {
            let file = File { path: format!("{MODULE}a.rs"), text: text.to_owned() };
            assert_eq!(check(&[file]).len(), want, "{why}: {text}");
        }
        let session = |count: usize| {
            let method = "fn f(&mut self) { self.cover.take(&self.window, self.source.shape()); }";
            let text = format!("impl Session {{ {} }}", method.repeat(count));
            check(&[File { path: format!("{MODULE}a.rs"), text }]).len()
        };
        assert_eq!((session(ORDERS_MAX), session(ORDERS_MAX + 1)), (0, 1), "the order has a ceiling");
        let elsewhere = File { path: "crates/a/src/b.rs".to_owned(), text: table[1].0.to_owned() };
        assert!(check(&[elsewhere]).is_empty());
    }
}
