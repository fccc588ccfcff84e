// One layer, from its input to rows of Y: linear -> store -> H -> aggregate -> row buffer.
//
// The first layer reads beats of features, a later one the activation's rows of the layer before. With Gat the rows of
// H are also scored, and a first pass over the edges finds each row's largest exponents. Aggregation reads beats of
// edges one phase later. The table of exponentials is outside, one for each head of a group.

`default_nettype none

/* verilator lint_off UNUSEDPARAM */  // each kind leaves out the parameters of the others
module fgnas_layer #(
  parameter bit          First              = 1'b1,
  parameter bit          Gat                = 1'b0,
  parameter int unsigned NodeCapacity       = 1024,
  parameter int unsigned DegreeCapacity     = 256,
  // Linear stage.
  parameter int unsigned InputWidth         = 16,   // columns of the first layer's features
  parameter int unsigned InGroups           = 4,    // groups of InLanes inputs, in a later layer
  parameter int unsigned InLanes            = 4,
  parameter int unsigned OutLanes           = 4,
  parameter int unsigned OutTiles           = 2,
  parameter int unsigned InputBits          = 8,
  parameter int unsigned WeightBits         = 8,
  parameter int unsigned LinearBits         = 28,
  parameter int          LinearShift        = 8,
  parameter int unsigned LinearDsp          = 16,
  parameter bit          WeightsDistributed = 1'b1,
  // H.
  parameter int unsigned Features           = 8,
  parameter int unsigned ValueBits          = 8,
  parameter int unsigned StoreRows          = 32,
  parameter int unsigned HLanes             = 8,
  parameter int unsigned HWords             = 1,
  parameter int unsigned HDepth             = 1024,
  // Heads, as the aggregation groups them.
  parameter int unsigned Heads              = 1,
  parameter int unsigned GroupHeads         = 1,
  parameter int unsigned HeadGroups         = 1,
  // Scores, with Gat.
  parameter int unsigned ScoreLanes         = 1,
  parameter int unsigned ScoreTiles         = 1,
  parameter int unsigned SkipLanes          = 1,    // from a head's last tile to the next head
  parameter int unsigned ScoreRows          = 32,
  parameter int unsigned ScoreBits          = 20,
  parameter int unsigned ScoreShift         = 4,
  parameter int unsigned ScoreDsp           = 1,
  parameter int unsigned ScoreDepth         = 1024,
  parameter bit          VectorsDistributed = 1'b1,
  // The first pass over the edges, with Gat.
  parameter int unsigned ExponentBits       = 12,
  parameter int unsigned MaximumRows        = 32,
  parameter int unsigned RingEdges          = 512,  // edges that the ring holds
  parameter int unsigned RingDepth          = 512,  // its entries, one for each group of heads of an edge
  // Aggregation, and the buffer behind it.
  parameter int unsigned AggregateLanes     = 8,
  parameter int unsigned AggregateTiles     = 1,
  parameter int unsigned HeadLanes          = 8,    // lanes of a head, with Gat
  parameter int unsigned GroupTiles         = 1,    // tiles of a group of heads, with Gat
  parameter bit          Weighted           = 1'b1,
  parameter bit          Maximum            = 1'b0,
  parameter bit          Mean               = 1'b0,
  parameter int unsigned AggregateBits      = 26,
  parameter int          AggregateShift     = 8,
  parameter int unsigned AggregateDsp       = 8,
  parameter int unsigned YBits              = 17,
  parameter int unsigned YRows              = 32,
  parameter int unsigned YLanes             = 8
/* verilator lint_on UNUSEDPARAM */
) (
  input  wire                                                       clk_i,
  input  wire                                                       rst_i,
  input  wire  [fgnas_pkg::RegisterBits-1:0]                        nodes_i,
  input  wire                                                       load_weight_i,
  /* verilator lint_off UNUSEDSIGNAL */  // each layer uses what its place and its attention need
  input  wire                                                       load_score_i,
  input  wire  fgnas_pkg::beat_t                                    load_data_i,
  input  wire  fgnas_pkg::beat_t                                    beat_i,
  // First layer: beats of features.
  input  wire                                                       feature_valid_i,
  output logic                                                      feature_pop_o,
  output logic                                                      feature_row_o,  // the row's last issue
  output logic                                                      column_error_o,
  // Later layers: rows of the layer before.
  input  wire                                                       row_i,
  output logic                                                      read_o,
  output logic                                                      read_last_o,
  input  wire  [InLanes-1:0][InputBits-1:0]                         input_i,
  // Beats of edges.
  input  wire                                                       edge_valid_i,
  output logic                                                      edge_pop_o,
  output logic                                                      edge_row_o,     // the row's last issue
  output logic                                                      degree_error_o,
  output logic                                                      source_error_o,
  // Table of exponentials: it answers a cycle later.
  output logic [GroupHeads-1:0][ExponentBits-1:0]                   difference_o,
  input  wire  [GroupHeads-1:0][fgnas_pkg::EdgeCoefficientBits-1:0] coefficient_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic                                                      store_done_o,   // H and its scores hold every row
  output logic                                                      y_row_o,
  input  wire                                                       y_read_i,
  input  wire                                                       y_read_last_i,
  output logic [YLanes-1:0][YBits-1:0]                              y_data_o
);
  localparam int unsigned HAddressBits = $clog2(HDepth);

  // Linear stage.
  logic h_free, h_reserve, h_write, h_write_last;
  logic [OutLanes-1:0][ValueBits-1:0] h_tile;
  if (First) begin : gen_first
    assign {read_o, read_last_o} = '0;
    fgnas_linear_sparse #(
      .InputWidth(InputWidth), .InLanes(InLanes), .OutLanes(OutLanes), .Tiles(OutTiles), .InBits(InputBits),
      .WeightBits(WeightBits), .SumBits(LinearBits), .Shift(LinearShift), .OutBits(ValueBits), .DspLanes(LinearDsp)
    ) u_linear (
      .clk_i(clk_i), .rst_i(rst_i), .load_i(load_weight_i), .load_data_i(load_data_i), .beat_valid_i(feature_valid_i),
      .beat_i(beat_i), .beat_pop_o(feature_pop_o), .free_i(h_free), .reserve_o(h_reserve), .write_o(h_write),
      .write_last_o(h_write_last), .data_o(h_tile), .row_issued_o(feature_row_o), .column_error_o(column_error_o)
    );
  end else begin : gen_later
    assign {feature_pop_o, feature_row_o, column_error_o} = '0;
    fgnas_linear_dense #(
      .Groups(InGroups), .InLanes(InLanes), .OutLanes(OutLanes), .Tiles(OutTiles), .InBits(InputBits),
      .WeightBits(WeightBits), .SumBits(LinearBits), .Shift(LinearShift), .OutBits(ValueBits), .DspLanes(LinearDsp),
      .Distributed(WeightsDistributed)
    ) u_linear (
      .clk_i(clk_i), .rst_i(rst_i), .load_i(load_weight_i), .load_data_i(load_data_i), .row_i(row_i), .read_o(read_o),
      .read_last_o(read_last_o), .input_i(input_i), .free_i(h_free), .reserve_o(h_reserve), .write_o(h_write),
      .write_last_o(h_write_last), .data_o(h_tile)
    );
  end

  // H.
  logic store_free, store_row, store_read, store_read_last, store_done, h_store;
  logic [HLanes*ValueBits-1:0] store_word, h_store_data, h_data;
  logic [HAddressBits-1:0] h_store_address, h_address;
  fgnas_row_buffer #(
    .Bits(ValueBits), .Features(Features), .WriteLanes(OutLanes), .ReadLanes(HLanes), .Rows(StoreRows)
  ) u_store_buffer (
    .clk_i(clk_i), .rst_i(rst_i), .free_o(store_free), .reserve_i(h_reserve), .write_i(h_write),
    .write_last_i(h_write_last), .write_data_i(h_tile), .row_o(store_row), .read_i(store_read),
    .read_last_i(store_read_last), .read_skip_i(1'b0), .read_rewind_i(1'b0), .read_data_o(store_word)
  );

  fgnas_store #(
    .WordBits(HLanes * ValueBits), .Words(HWords), .Capacity(NodeCapacity), .AddressBits(HAddressBits)
  ) u_store (
    .clk_i(clk_i), .rst_i(rst_i), .nodes_i(nodes_i), .row_i(store_row), .read_o(store_read),
    .read_last_o(store_read_last), .data_i(store_word), .write_o(h_store), .address_o(h_store_address),
    .data_o(h_store_data), .done_o(store_done)
  );

  fgnas_block_ram #(.Depth(HDepth), .Width(HLanes * ValueBits)) u_h (
    .clk_i(clk_i), .write_i(h_store), .write_address_i(h_store_address), .write_data_i(h_store_data),
    .read_address_i(h_address), .read_data_o(h_data)
  );

  // Aggregation.
  logic y_free, y_reserve, y_write, y_write_last;
  logic [AggregateLanes-1:0][YBits-1:0] y_tile;
  if (Gat) begin : gen_gat
    localparam int unsigned ScoreAddressBits = $clog2(ScoreDepth);
    localparam int unsigned SourceBits = $clog2(NodeCapacity);
    localparam int unsigned DegreeBits = $clog2(DegreeCapacity + 1) + 1;

    // Scores: the rows of H once more, into a memory for targets and one for sources.
    logic score_free, score_row, score_read, score_read_skip, score_read_last, score_done;
    logic [ScoreLanes-1:0][ValueBits-1:0] score_tile;
    logic [GroupHeads-1:0] write_target, write_source;
    logic [ScoreAddressBits-1:0] score_address, target_address, source_address;
    logic [ValueBits-1:0] score;
    logic [GroupHeads-1:0][ValueBits-1:0] target, source;
    assign h_free       = store_free && score_free;
    assign store_done_o = store_done && score_done;

    fgnas_row_buffer #(
      .Bits(ValueBits), .Features(Features), .WriteLanes(OutLanes), .ReadLanes(ScoreLanes), .Rows(ScoreRows),
      .SkipLanes(SkipLanes)
    ) u_score_buffer (
      .clk_i(clk_i), .rst_i(rst_i), .free_o(score_free), .reserve_i(h_reserve), .write_i(h_write),
      .write_last_i(h_write_last), .write_data_i(h_tile), .row_o(score_row), .read_i(score_read),
      .read_last_i(score_read_last), .read_skip_i(score_read_skip), .read_rewind_i(1'b0), .read_data_o(score_tile)
    );

    fgnas_score #(
      .Heads(Heads), .GroupHeads(GroupHeads), .Tiles(ScoreTiles), .Lanes(ScoreLanes), .ValueBits(ValueBits),
      .WeightBits(WeightBits), .SumBits(ScoreBits), .Shift(ScoreShift), .Capacity(NodeCapacity),
      .AddressBits(ScoreAddressBits), .DspLanes(ScoreDsp), .Distributed(VectorsDistributed)
    ) u_score (
      .clk_i(clk_i), .rst_i(rst_i), .nodes_i(nodes_i), .load_i(load_score_i), .load_data_i(load_data_i),
      .row_i(score_row), .read_o(score_read), .read_skip_o(score_read_skip), .read_last_o(score_read_last),
      .value_i(score_tile), .write_target_o(write_target), .write_source_o(write_source), .address_o(score_address),
      .score_o(score), .done_o(score_done)
    );

    for (genvar g = 0; g < GroupHeads; g++) begin : gen_scores
      fgnas_block_ram #(.Depth(ScoreDepth), .Width(ValueBits)) u_target (
        .clk_i(clk_i), .write_i(write_target[g]), .write_address_i(score_address), .write_data_i(score),
        .read_address_i(target_address), .read_data_o(target[g])
      );
      fgnas_block_ram #(.Depth(ScoreDepth), .Width(ValueBits)) u_source (
        .clk_i(clk_i), .write_i(write_source[g]), .write_address_i(score_address), .write_data_i(score),
        .read_address_i(source_address), .read_data_o(source[g])
      );
    end

    // First pass: a row's edges wait in a ring for the row's largest exponents.
    logic ring_write, ring_valid, ring_pop, last_in, last_out, ring_release;
    logic [SourceBits-1:0] source_in, source_out;
    logic [GroupHeads-1:0][ExponentBits-1:0] exponent_in, exponent_out, maximum, maximum_out;
    logic [DegreeBits-1:0] release_edges;
    logic maximum_free, maximum_reserve, maximum_write, maximum_write_last;
    logic maximum_row, maximum_read, maximum_rewind, maximum_read_last;

    fgnas_row_maximum #(
      .GroupHeads(GroupHeads), .HeadGroups(HeadGroups), .ValueBits(ValueBits), .ExponentBits(ExponentBits),
      .Capacity(NodeCapacity), .AddressBits(ScoreAddressBits), .SourceBits(SourceBits),
      .DegreeCapacity(DegreeCapacity), .RingEdges(RingEdges)
    ) u_row_maximum (
      .clk_i(clk_i), .rst_i(rst_i), .nodes_i(nodes_i), .beat_valid_i(edge_valid_i), .beat_i(beat_i),
      .beat_pop_o(edge_pop_o), .target_address_o(target_address), .source_address_o(source_address),
      .target_i(target), .source_i(source), .ring_write_o(ring_write), .ring_last_o(last_in),
      .ring_source_o(source_in), .ring_exponent_o(exponent_in), .release_i(ring_release),
      .release_edges_i(release_edges), .free_i(maximum_free), .reserve_o(maximum_reserve), .write_o(maximum_write),
      .write_last_o(maximum_write_last), .maximum_o(maximum), .row_issued_o(edge_row_o),
      .degree_error_o(degree_error_o), .source_error_o(source_error_o)
    );

    fgnas_fifo #(.Depth(RingDepth), .Width(1 + SourceBits + GroupHeads * ExponentBits)) u_ring (
      .clk_i(clk_i), .rst_i(rst_i), .write_i(ring_write), .data_i({last_in, source_in, exponent_in}),
      .valid_o(ring_valid), .data_o({last_out, source_out, exponent_out}), .pop_i(ring_pop)
    );

    fgnas_row_buffer #(
      .Bits(ExponentBits), .Features(Heads), .WriteLanes(GroupHeads), .ReadLanes(GroupHeads), .Rows(MaximumRows),
      .Rewinds(1'b1)
    ) u_maximum_buffer (
      .clk_i(clk_i), .rst_i(rst_i), .free_o(maximum_free), .reserve_i(maximum_reserve), .write_i(maximum_write),
      .write_last_i(maximum_write_last), .write_data_i(maximum), .row_o(maximum_row), .read_i(maximum_read),
      .read_last_i(maximum_read_last), .read_skip_i(1'b0), .read_rewind_i(maximum_rewind), .read_data_o(maximum_out)
    );

    // Second pass.
    fgnas_aggregate_gat #(
      .Lanes(AggregateLanes), .HeadLanes(HeadLanes), .GroupHeads(GroupHeads), .HeadGroups(HeadGroups),
      .GroupTiles(GroupTiles), .HLanes(HLanes), .HCapacity(NodeCapacity), .HAddressBits(HAddressBits),
      .SourceBits(SourceBits), .ValueBits(ValueBits), .ExponentBits(ExponentBits), .Maximum(Maximum), .Mean(Mean),
      .SumBits(AggregateBits), .Left(-AggregateShift), .YBits(YBits), .DegreeCapacity(DegreeCapacity),
      .DspLanes(AggregateDsp)
    ) u_aggregate (
      .clk_i(clk_i), .rst_i(rst_i), .ring_valid_i(ring_valid), .ring_last_i(last_out), .ring_source_i(source_out),
      .ring_exponent_i(exponent_out), .ring_pop_o(ring_pop), .release_o(ring_release),
      .release_edges_o(release_edges), .row_i(maximum_row), .maximum_i(maximum_out), .maximum_read_o(maximum_read),
      .maximum_rewind_o(maximum_rewind), .maximum_last_o(maximum_read_last), .difference_o(difference_o),
      .coefficient_i(coefficient_i), .h_address_o(h_address), .h_data_i(h_data), .free_i(y_free),
      .reserve_o(y_reserve), .write_o(y_write), .write_last_o(y_write_last), .data_o(y_tile)
    );
  end else begin : gen_plain
    assign h_free       = store_free;
    assign store_done_o = store_done;
    assign difference_o = '0;

    fgnas_aggregate #(
      .Lanes(AggregateLanes), .Tiles(AggregateTiles), .HLanes(HLanes), .HCapacity(NodeCapacity),
      .HAddressBits(HAddressBits), .ValueBits(ValueBits), .Weighted(Weighted), .Maximum(Maximum), .Mean(Mean),
      .SumBits(AggregateBits), .Shift(AggregateShift), .YBits(YBits), .DegreeCapacity(DegreeCapacity),
      .DspLanes(AggregateDsp)
    ) u_aggregate (
      .clk_i(clk_i), .rst_i(rst_i), .nodes_i(nodes_i), .beat_valid_i(edge_valid_i), .beat_i(beat_i),
      .beat_pop_o(edge_pop_o), .h_address_o(h_address), .h_data_i(h_data), .free_i(y_free), .reserve_o(y_reserve),
      .write_o(y_write), .write_last_o(y_write_last), .data_o(y_tile), .row_issued_o(edge_row_o),
      .degree_error_o(degree_error_o), .source_error_o(source_error_o)
    );
  end

  fgnas_row_buffer #(
    .Bits(YBits), .Features(Features), .WriteLanes(AggregateLanes), .ReadLanes(YLanes), .Rows(YRows)
  ) u_y_buffer (
    .clk_i(clk_i), .rst_i(rst_i), .free_o(y_free), .reserve_i(y_reserve), .write_i(y_write),
    .write_last_i(y_write_last), .write_data_i(y_tile), .row_o(y_row_o), .read_i(y_read_i),
    .read_last_i(y_read_last_i), .read_skip_i(1'b0), .read_rewind_i(1'b0), .read_data_o(y_data_o)
  );
endmodule

`default_nettype wire
