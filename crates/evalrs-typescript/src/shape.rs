//! What JavaScript is as a module, seen in its syntax: whether it is an ES module, and what it exports.

use std::collections::BTreeSet;

use oxc_ast::ast::{AssignmentExpression, AssignmentTarget, Expression, IdentifierReference};
use oxc_ast::ast::{ObjectExpression, ObjectPropertyKind};
use oxc_ast_visit::{Visit, walk};
use oxc_parser::ParserReturn;
use oxc_syntax::module_record::{ExportExportName, ModuleRecord};

/// A placeholder for names that cannot be seen.
const OTHERS: &str = "*";

/// A module as others see it.
#[derive(Debug)]
pub(super) struct ModuleShape {
    /// Whether only an ES module has this syntax.
    pub is_module: bool,
    /// What it exports as an ES module.
    exports: BTreeSet<String>,
    common: CommonJsExports,
}

impl ModuleShape {
    pub(crate) fn of(parsed: &ParserReturn<'_>) -> Self {
        let mut common = CommonJsExports::default();
        common.visit_program(&parsed.program);
        let record = &parsed.module_record;
        Self { is_module: record.has_module_syntax, exports: exports(record), common }
    }

    /// The exports, sorted; `*` where more may come.
    pub(crate) fn exports(self, is_module: bool) -> Vec<String> {
        let mut exports = if is_module { self.exports } else { self.common.exports };
        if !is_module && exports.is_empty() && self.common.is_used {
            exports.insert(OTHERS.to_owned());
        }
        exports.into_iter().collect()
    }
}

fn exports(record: &ModuleRecord<'_>) -> BTreeSet<String> {
    let entries = record.local_export_entries.iter().chain(&record.indirect_export_entries);
    let names = entries.filter_map(|entry| match &entry.export_name {
        ExportExportName::Name(name) => Some(name.name.to_string()),
        ExportExportName::Default(_) => Some("default".to_owned()),
        ExportExportName::Null => None,
    });
    names.chain(record.star_export_entries.iter().map(|_| OTHERS.to_owned())).collect()
}

/// What a module exports as `CommonJS`, as far as it is assigned in the usual ways.
#[derive(Debug, Default)]
struct CommonJsExports {
    exports: BTreeSet<String>,
    /// Whether `module` or `exports` is used at all.
    is_used: bool,
}

impl CommonJsExports {
    fn add_object(&mut self, object: &ObjectExpression<'_>) {
        for property in &object.properties {
            let name = match property {
                ObjectPropertyKind::ObjectProperty(property) => property.key.static_name(),
                ObjectPropertyKind::SpreadProperty(_) => None,
            };
            self.exports.insert(name.map_or_else(|| OTHERS.to_owned(), |name| name.to_string()));
        }
    }
}

impl<'a> Visit<'a> for CommonJsExports {
    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        self.is_used |= matches!(it.name.as_str(), "module" | "exports");
    }

    fn visit_assignment_expression(&mut self, it: &AssignmentExpression<'a>) {
        walk::walk_assignment_expression(self, it);
        let AssignmentTarget::StaticMemberExpression(target) = &it.left else { return };
        let name = target.property.name.as_str();
        let exported = match &target.object {
            Expression::Identifier(object) if object.name == "module" && name == "exports" => {
                if let Expression::ObjectExpression(exports) = &it.right {
                    return self.add_object(exports);
                }
                OTHERS
            }
            Expression::Identifier(object) if object.name == "exports" => name,
            Expression::StaticMemberExpression(object) if object.property.name == "exports" => name,
            _ => return,
        };
        self.exports.insert(exported.to_owned());
    }
}
