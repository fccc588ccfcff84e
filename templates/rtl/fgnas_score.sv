// gat's scores: s = a_l . h and r = a_r . h of every head, a tile of t_attn features at a time, each tile once for
// either vector. Scores go to memories of GroupHeads lanes: head h to lane h mod GroupHeads, word h / GroupHeads.

`default_nettype none

module fgnas_score #(
  parameter int unsigned Heads        = 2,
  parameter int unsigned GroupHeads   = 1,
  parameter int unsigned Tiles        = 2,     // of Lanes features, per head
  parameter int unsigned Lanes        = 4,
  parameter int unsigned ValueBits    = 8,
  parameter int unsigned WeightBits   = 8,
  parameter int unsigned SumBits      = 20,    // neither rounds nor overflows
  parameter int          Shift        = 4,     // the weights' fraction bits
  parameter int unsigned Capacity     = 3072,  // nodes that the score memories hold
  parameter int unsigned AddressBits  = 13,
  parameter int unsigned DspLanes     = 4,
  parameter bit          Distributed  = 1'b1   // vectors in LUTRAM
) (
  input  wire                                clk_i,
  input  wire                                rst_i,
  input  wire  [fgnas_pkg::RegisterBits-1:0] nodes_i,
  // a word of a vector; by head, then tile, then target and source
  input  wire                                load_i,
  /* verilator lint_off UNUSEDSIGNAL */  // fields narrower than the format's limits
  input  wire  fgnas_pkg::beat_t             load_data_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire                                row_i,
  output logic                               read_o,
  output logic                               read_skip_o,  // to the next head
  output logic                               read_last_o,
  input  wire  [Lanes-1:0][ValueBits-1:0]    value_i,
  output logic [GroupHeads-1:0]              write_target_o,
  output logic [GroupHeads-1:0]              write_source_o,
  output logic [AddressBits-1:0]             address_o,
  output logic [ValueBits-1:0]               score_o,
  output logic                               done_o
);
  localparam int unsigned Words = 2 * Heads * Tiles;
  localparam int unsigned WordBits = $clog2(Words);
  localparam int unsigned TileBits = (Tiles > 1) ? $clog2(Tiles) : 1;
  localparam int unsigned HeadBits = (Heads > 1) ? $clog2(Heads) : 1;
  localparam int unsigned LaneBits = (GroupHeads > 1) ? $clog2(GroupHeads) : 1;
  localparam int unsigned ProductBits = ValueBits + WeightBits;

  // Issue: two per tile, first the target's vector, then the source's.
  logic source_q, issue, tile_last, head_last;
  logic [TileBits-1:0] tile_q;
  logic [HeadBits-1:0] head_q;
  logic [LaneBits-1:0] lane_q;
  logic [WordBits-1:0] word_q;
  logic [AddressBits-1:0] base_q, row_q;
  logic [fgnas_pkg::RegisterBits-1:0] rows_q;
  assign issue       = row_i && !done_o;
  assign tile_last   = tile_q == TileBits'(Tiles - 1);
  assign head_last   = head_q == HeadBits'(Heads - 1);
  assign read_o      = issue && source_q;
  assign read_skip_o = read_o && tile_last;
  assign read_last_o = read_skip_o && head_last;

  always_ff @(posedge clk_i) begin
    if (issue) begin
      source_q <= !source_q;
      word_q   <= read_last_o ? '0 : word_q + 1'b1;
    end
    if (read_o) tile_q <= tile_last ? '0 : tile_q + 1'b1;
    if (read_skip_o) begin
      head_q <= head_last ? '0 : head_q + 1'b1;
      lane_q <= (lane_q == LaneBits'(GroupHeads - 1)) ? '0 : lane_q + 1'b1;
      if (head_last) base_q <= '0;
      else if (lane_q == LaneBits'(GroupHeads - 1)) base_q <= base_q + AddressBits'(Capacity);
    end
    if (read_last_o) begin
      row_q  <= row_q + 1'b1;
      rows_q <= rows_q + 1'b1;
      done_o <= (rows_q + 1'b1) == nodes_i;
    end
    if (rst_i) begin
      source_q <= 1'b0;
      word_q   <= '0;
      tile_q   <= '0;
      head_q   <= '0;
      lane_q   <= '0;
      base_q   <= '0;
      row_q    <= '0;
      rows_q   <= '0;
      done_o   <= 1'b0;
    end
  end

  // The vectors, in the order of issue.
  logic [WordBits-1:0] load_word_q;
  logic [Lanes*WeightBits-1:0] load_word, weight;
  for (genvar l = 0; l < Lanes; l++) begin : gen_word
    assign load_word[l*WeightBits+:WeightBits] = load_data_i[fgnas_pkg::WordBits*l+:WeightBits];
  end
  always_ff @(posedge clk_i) begin
    if (load_i) load_word_q <= load_word_q + 1'b1;
    if (rst_i) load_word_q <= '0;
  end
  if (Distributed) begin : gen_distributed
    fgnas_distributed_ram #(.Depth(Words), .Width(Lanes * WeightBits)) u_vectors (
      .clk_i(clk_i), .write_i(load_i), .write_address_i(load_word_q), .write_data_i(load_word),
      .read_address_i(word_q), .read_data_o(weight)
    );
  end else begin : gen_block
    fgnas_block_ram #(.Depth(Words), .Width(Lanes * WeightBits)) u_vectors (
      .clk_i(clk_i), .write_i(load_i), .write_address_i(load_word_q), .write_data_i(load_word),
      .read_address_i(word_q), .read_data_o(weight)
    );
  end

  // Product, sum, requantiser: the control of an issue moves along with its data.
  logic [Lanes-1:0][ValueBits-1:0] value_q;
  logic [Lanes-1:0][ProductBits-1:0] product;
  logic [2:0] valid_q, source_at_q;
  logic [1:0] first_q;
  logic [2:0] last_q;
  logic [LaneBits-1:0] lane_at_q[3];
  logic [AddressBits-1:0] address_q[3];
  always_ff @(posedge clk_i) begin
    value_q     <= value_i;
    valid_q     <= rst_i ? '0 : {valid_q[1:0], issue};
    source_at_q <= {source_at_q[1:0], source_q};
    first_q     <= {first_q[0], tile_q == '0};
    last_q      <= {last_q[1:0], tile_last};
    lane_at_q   <= '{lane_q, lane_at_q[0], lane_at_q[1]};
    address_q   <= '{base_q + row_q, address_q[0], address_q[1]};
  end
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    fgnas_multiplier #(.LeftBits(ValueBits), .RightBits(WeightBits), .UseDsp(l < DspLanes)) u_multiplier (
      .clk_i(clk_i), .left_i(value_q[l]), .right_i(weight[l*WeightBits+:WeightBits]), .product_o(product[l])
    );
  end
  logic signed [SumBits-1:0] sum_d, target_sum_q, source_sum_q;
  always_comb begin
    sum_d = first_q[1] ? '0 : (source_at_q[1] ? source_sum_q : target_sum_q);
    for (int unsigned l = 0; l < Lanes; l++) sum_d = sum_d + SumBits'(signed'(product[l]));
  end
  always_ff @(posedge clk_i) begin
    if (valid_q[1] && source_at_q[1]) source_sum_q <= sum_d;
    if (valid_q[1] && !source_at_q[1]) target_sum_q <= sum_d;
  end
  logic [ValueBits-1:0] score;
  fgnas_requantise #(.InBits(SumBits), .Shift(Shift), .OutBits(ValueBits)) u_requantise (
    .value_i(source_at_q[2] ? source_sum_q : target_sum_q), .value_o(score)
  );
  always_ff @(posedge clk_i) begin
    score_o   <= score;
    address_o <= address_q[2];
    for (int unsigned g = 0; g < GroupHeads; g++) begin
      write_target_o[g] <= valid_q[2] && last_q[2] && !source_at_q[2] && (lane_at_q[2] == LaneBits'(g)) && !rst_i;
      write_source_o[g] <= valid_q[2] && last_q[2] && source_at_q[2] && (lane_at_q[2] == LaneBits'(g)) && !rst_i;
    end
  end
endmodule

`default_nettype wire
