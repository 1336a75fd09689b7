//! ONNX graphs as protocol buffers: the files that they read tensors from, and one more output.
//!
//! Weights are skipped, not read, so a graph is walked in milliseconds. The numbers of fields are
//! those of `onnx.proto`.

use std::collections::BTreeSet;

/// A message in which a tensor may be, directly or in another message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Message {
    Model,
    Training,
    Graph,
    Function,
    Node,
    Attribute,
    Sparse,
    Tensor,
    Entry,
}

const MAX_DEPTH: usize = 64;
const GRAPH_OF_MODEL: u64 = 7;
const NODE_OF_GRAPH: u64 = 1;
const OUTPUT_OF_GRAPH: u64 = 12;
const OUTPUT_OF_NODE: u64 = 2;
const OPERATOR_OF_NODE: u64 = 4;
const NAME_OF_VALUE: u64 = 1;

impl Message {
    /// Returns the message that a field of this one is, if it leads to tensors.
    fn inner(self, field: u64) -> Option<Message> {
        use Message::{Attribute, Entry, Function, Graph, Model, Node, Sparse, Tensor, Training};
        match (self, field) {
            (Model, GRAPH_OF_MODEL) | (Training, 1 | 2) | (Attribute, 6 | 11) => Some(Graph),
            (Model, 20) => Some(Training),
            (Model, 25) => Some(Function),
            (Graph, NODE_OF_GRAPH) | (Function, 7) => Some(Node),
            (Graph, 5) | (Attribute, 5 | 10) | (Sparse, 1 | 2) => Some(Tensor),
            (Graph, 15) | (Attribute, 22 | 23) => Some(Sparse),
            (Function, 11) | (Node, 5) => Some(Attribute),
            (Tensor, 13) => Some(Entry),
            _ => None,
        }
    }
}

/// Returns the names of the files that a graph reads tensors from, as it gives them.
///
/// # Errors
/// Why the bytes are no ONNX graph.
pub fn external_files(model: &[u8]) -> Result<BTreeSet<String>, String> {
    let mut found = BTreeSet::new();
    if model.is_empty() {
        return Err("an empty file".to_owned());
    }
    collect_locations(model, Message::Model, 0, &mut found)?;
    Ok(found)
}

/// Returns bytes that add an output to the graph behind which they are put: that of the last layer
/// normalization, which in an encoder that is pooled by the mean has the states of all tokens.
/// Messages that are written one after the other are one, in which the outputs of both stand.
///
/// None for a graph without a layer normalization, and for what is no graph.
pub fn states_output(model: &[u8]) -> Option<Vec<u8>> {
    let mut states = None;
    for graph in Fields(model).flatten() {
        for node in Fields(graph.1)
            .flatten()
            .filter(|_| graph.0 == GRAPH_OF_MODEL)
        {
            let of = |wanted| {
                let mut fields = Fields(node.1).flatten();
                fields.find_map(|(field, value)| (field == wanted).then_some(value))
            };
            if node.0 == NODE_OF_GRAPH && of(OPERATOR_OF_NODE) == Some(b"LayerNormalization") {
                states = of(OUTPUT_OF_NODE)
                    .filter(|name| !name.is_empty())
                    .or(states);
            }
        }
    }
    let output = write_field(NAME_OF_VALUE, states?);
    Some(write_field(
        GRAPH_OF_MODEL,
        &write_field(OUTPUT_OF_GRAPH, &output),
    ))
}

fn collect_locations(
    data: &[u8],
    message: Message,
    depth: usize,
    found: &mut BTreeSet<String>,
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err("nested too deeply".to_owned());
    }
    let (mut key, mut value) = (&data[..0], &data[..0]);
    for field in Fields(data) {
        let (number, inner) = field?;
        match (message, number) {
            (Message::Entry, 1) => key = inner,
            (Message::Entry, 2) => value = inner,
            _ => {
                if let Some(kind) = message.inner(number) {
                    collect_locations(inner, kind, depth + 1, found)?;
                }
            }
        }
    }
    if message == Message::Entry && key == b"location" {
        let name = std::str::from_utf8(value).map_err(|error| error.to_string())?;
        found.insert(name.to_owned());
    }
    Ok(())
}

/// The number and the bytes of each field of a message that has a length; the rest of the message.
struct Fields<'a>(&'a [u8]);

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, &'a [u8]), String>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.0.is_empty() {
            match self.read_field() {
                Ok(None) => {}
                Ok(Some(field)) => return Some(Ok(field)),
                Err(why) => {
                    self.0 = &[];
                    return Some(Err(why));
                }
            }
        }
        None
    }
}

impl<'a> Fields<'a> {
    /// Reads one field; None for one without a length.
    fn read_field(&mut self) -> Result<Option<(u64, &'a [u8])>, String> {
        // ONNX Runtime cuts a longer one off, and would read another field.
        let tag =
            u32::try_from(self.read_varint()?).map_err(|_| "a field number that is too large")?;
        let tag = u64::from(tag);
        match tag & 7 {
            0 => self.read_varint().map(|_| None),
            1 => self.take(8).map(|_| None),
            5 => self.take(4).map(|_| None),
            2 => {
                let length = self.read_varint()?;
                Ok(Some((tag >> 3, self.take(length)?)))
            }
            kind => Err(format!("a field of type {kind}")),
        }
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], String> {
        let found = usize::try_from(length)
            .ok()
            .and_then(|length| self.0.split_at_checked(length))
            .ok_or("a field is longer than its message")?;
        self.0 = found.1;
        Ok(found.0)
    }

    fn read_varint(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for at in 0..10 {
            let byte = *self.0.get(at).ok_or("a message ends within a number")?;
            number |= u64::from(byte & 0x7f) << (7 * at);
            if byte < 0x80 {
                self.0 = &self.0[at + 1..];
                return Ok(number);
            }
        }
        Err("a number of more than ten bytes".to_owned())
    }
}

fn write_field(number: u64, value: &[u8]) -> Vec<u8> {
    let mut field = Vec::with_capacity(value.len() + 12);
    for mut left in [number << 3 | 2, value.len() as u64] {
        while left >= 0x80 {
            field.push((left & 0x7f) as u8 | 0x80);
            left >>= 7;
        }
        field.push(left as u8);
    }
    field.extend_from_slice(value);
    field
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{Fields, external_files, states_output, write_field};

    fn node(operator: &[u8], output: &[u8]) -> Vec<u8> {
        let node = [write_field(2, output), write_field(4, operator)].concat();
        write_field(1, &node)
    }

    fn model(nodes: &[Vec<u8>]) -> Vec<u8> {
        write_field(7, &nodes.concat())
    }

    #[test]
    fn the_added_output_is_that_of_the_last_layer_normalization() {
        let layers = [
            node(b"LayerNormalization", b"first"),
            node(b"LayerNormalization", &[b'x'; 200]),
            node(b"MatMul", b"pooled"),
        ];
        let added = states_output(&model(&layers)).unwrap();
        let output = write_field(12, &write_field(1, &[b'x'; 200]));
        assert_eq!(added, write_field(7, &output));
    }

    #[test]
    fn a_graph_without_layer_normalization_has_no_states() {
        assert_eq!(states_output(&model(&[node(b"MatMul", b"x")])), None);
        assert_eq!(states_output(b"no graph"), None);
    }

    #[test]
    fn fields_without_a_length_are_passed_over() {
        let data = [0x08, 0xff, 0x01, 0x12, 0x01, b'a', 0x1d, 1, 2, 3, 4];
        let found: Vec<_> = Fields(&data).collect();
        assert_eq!(found, [Ok((2, &b"a"[..]))]);
    }

    #[test]
    fn a_graph_that_is_cut_off_is_told() {
        let whole = model(&[node(b"MatMul", b"x")]);
        let told = external_files(&whole[..whole.len() - 1]).unwrap_err();
        assert_eq!(told, "a field is longer than its message");
        assert_eq!(external_files(&whole).unwrap().len(), 0);
    }
}
