//! Tools whose input is a struct of ours: name, description, schema and parsing come from it.
//!
//! Tools that others describe at run time implement [`Tool`] themselves.

use std::future::Future;

use futures_util::future::BoxFuture;
use permissions::Access;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    schema,
    tool::{Needs, Preview, Tool, ToolContext, ToolFailure, ToolOutput},
};

pub(crate) trait Typed: Send + Sync + 'static {
    const NAME: &'static str;

    /// See [`Tool::needs`].
    const NEEDS: Needs = Needs::Nothing;

    /// Its doc comment is what the model reads about the tool.
    type Input: JsonSchema + DeserializeOwned + Send + 'static;

    /// What a schema cannot say about a good input.
    fn check(_input: &Self::Input) -> Result<(), ToolFailure> {
        Ok(())
    }

    /// See [`Tool::access`].
    fn access(input: &Self::Input, context: &ToolContext) -> Result<Access, ToolFailure>;

    /// See [`Tool::preview`].
    fn preview(_input: &Self::Input, _context: &ToolContext) -> Option<Preview> {
        None
    }

    /// See [`Tool::stays`].
    fn stays(_input: &Self::Input) -> bool {
        false
    }

    /// See [`Tool::run`].
    fn run(
        input: Self::Input,
        context: ToolContext,
    ) -> impl Future<Output = Result<ToolOutput, ToolFailure>> + Send + 'static;
}

impl<T: Typed> Tool for T {
    fn name(&self) -> &str {
        T::NAME
    }

    fn description(&self) -> String {
        schema::description::<T::Input>()
    }

    fn input_schema(&self) -> Value {
        schema::input_schema::<T::Input>()
    }

    fn access(&self, input: &Value, context: &ToolContext) -> Result<Access, ToolFailure> {
        T::access(&parse::<T>(input)?, context)
    }

    fn preview(&self, input: &Value, context: &ToolContext) -> Option<Preview> {
        T::preview(&parse::<T>(input).ok()?, context)
    }

    fn stays(&self, input: &Value) -> bool {
        parse::<T>(input).is_ok_and(|input| T::stays(&input))
    }

    fn needs(&self) -> Needs {
        T::NEEDS
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move { T::run(parse::<T>(&input)?, context).await })
    }
}

pub(crate) fn parse<T: Typed>(input: &Value) -> Result<T::Input, ToolFailure> {
    let input = schema::parse(T::NAME, input)?;
    T::check(&input)?;
    Ok(input)
}
