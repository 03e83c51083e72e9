// How the layers of a model are divided over model chunks.
#pragma once

#include <vector>

#include "busbar/base/result.h"
#include "busbar/workload/layout.h"

namespace busbar::workload {

/// The forward work of the head and of multi-token prediction, in layers. The embedding only reads a table: it counts
/// as nothing.
double head_in_layers(const ModelSpec& model, std::uint32_t seq);

/// The layers before model chunk `chunk`. Precondition: `layout` is resolved.
std::uint32_t first_layer_of(const LayoutSpec& layout, std::uint32_t chunk);

/// The layers of model chunk `chunk`; those of multi-token prediction are on the chunk with the head, after its own.
std::uint32_t layers_with_mtp(const LayoutSpec& layout, const ModelSpec& model, std::uint32_t chunk);

/// Layers of each of pp x vpp model chunks; they sum to the model's.
///  - `chunk_layers` as given.
///  - With embedding_as_layer or head_as_layer: layers and these places divide evenly, as in Megatron.
///  - Where layers divide: equally over the chunks without first_layers and last_layers.
///  - Else, and with balanced_layers: the longest chunk is as short as possible, the head counted. Chunks at the ends
///    take fewer layers, and a chunk that has the embedding or the head may take none.
Result<std::vector<std::uint32_t>> split_layers(const LayoutSpec& layout, const ModelSpec& model);

}  // namespace busbar::workload
