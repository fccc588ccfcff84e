// gat's second pass over a row: Y_i = AGG over j of c_ij h_j, over the sum of c_ij; c = 256 exp(-D), D = the row's
// largest exponent minus the edge's. The ring delivers one entry per group of heads; an entry takes GroupTiles cycles.

`default_nettype none

module fgnas_aggregate_gat #(
  parameter int unsigned Lanes          = 8,
  parameter int unsigned HeadLanes      = 8,     // lanes of a head: GroupHeads heads are side by side
  parameter int unsigned GroupHeads     = 1,
  parameter int unsigned HeadGroups     = 2,
  parameter int unsigned GroupTiles     = 1,     // tiles of a group
  parameter int unsigned HLanes         = 8,     // features in a word of H, a multiple of Lanes
  parameter int unsigned HCapacity      = 3072,  // rows of H
  parameter int unsigned HAddressBits   = 13,
  parameter int unsigned SourceBits     = 12,
  parameter int unsigned ValueBits      = 8,
  parameter int unsigned ExponentBits   = 12,
  parameter bit          Maximum        = 1'b0,  // else add
  parameter bit          Mean           = 1'b0,  // also divide by the degree
  parameter int unsigned SumBits        = 26,    // neither rounds nor overflows
  parameter int unsigned Left           = 0,     // fraction bits that Y has beyond those of H
  parameter int unsigned YBits          = 8,
  parameter int unsigned DegreeCapacity = 256,
  parameter int unsigned DegreeBits     = $clog2(DegreeCapacity + 1) + 1,
  parameter int unsigned DspLanes       = 8
) (
  input  wire                                     clk_i,
  input  wire                                     rst_i,
  input  wire                                     ring_valid_i,
  input  wire                                     ring_last_i,
  input  wire  [SourceBits-1:0]                   ring_source_i,
  input  wire  [GroupHeads-1:0][ExponentBits-1:0] ring_exponent_i,
  output logic                                    ring_pop_o,
  output logic                                    release_o,
  output logic [DegreeBits-1:0]                   release_edges_o,
  input  wire                                     row_i,           // the row's maxima are ready
  input  wire  [GroupHeads-1:0][ExponentBits-1:0] maximum_i,
  output logic                                    maximum_read_o,
  output logic                                    maximum_rewind_o,
  output logic                                    maximum_last_o,
  output logic [GroupHeads-1:0][ExponentBits-1:0] difference_o,    // to the table, which answers a cycle later
  input  wire  [GroupHeads-1:0][fgnas_pkg::EdgeCoefficientBits-1:0] coefficient_i,
  output logic [HAddressBits-1:0]                 h_address_o,
  input  wire  [HLanes*ValueBits-1:0]             h_data_i,
  input  wire                                     free_i,
  output logic                                    reserve_o,
  output logic                                    write_o,
  output logic                                    write_last_o,
  output logic [Lanes-1:0][YBits-1:0]             data_o
);
  localparam int unsigned Tiles = HeadGroups * GroupTiles;
  localparam int unsigned TileBits = (Tiles > 1) ? $clog2(Tiles) : 1;
  localparam int unsigned GroupTileBits = (GroupTiles > 1) ? $clog2(GroupTiles) : 1;
  localparam int unsigned GroupBits = (HeadGroups > 1) ? $clog2(HeadGroups) : 1;
  localparam int unsigned Parts = HLanes / Lanes;
  localparam int unsigned PartBits = (Parts > 1) ? $clog2(Parts) : 1;
  localparam int unsigned LaneBits = (HLanes > 1) ? $clog2(HLanes) : 1;
  localparam int unsigned PlaceBits = LaneBits + $clog2(ValueBits + 1);  // of a bit in a word of H
  localparam int unsigned CoefficientBits = fgnas_pkg::EdgeCoefficientBits;
  localparam int unsigned CoefficientSumBits = CoefficientBits + $clog2(DegreeCapacity);
  localparam int unsigned DenominatorBits = CoefficientSumBits + (Mean ? DegreeBits : 0);

  // Issue: a tile of the front group of heads.
  logic [GroupTileBits-1:0] tile_q;
  logic [GroupBits-1:0] group_q;
  logic [PartBits-1:0] part_q;
  logic [HAddressBits-1:0] base_q;
  logic [DegreeBits-1:0] degree_q;
  logic row_open_q, issue, tile_last, group_last, edge_done, row_done;
  assign tile_last        = tile_q == GroupTileBits'(GroupTiles - 1);
  assign group_last       = group_q == GroupBits'(HeadGroups - 1);
  assign issue            = ring_valid_i && row_i && (row_open_q || free_i);
  assign reserve_o        = issue && !row_open_q;
  assign ring_pop_o       = issue && tile_last;
  assign edge_done        = ring_pop_o && group_last;
  assign row_done         = edge_done && ring_last_i;
  assign maximum_read_o   = ring_pop_o && (!group_last || ring_last_i);
  assign maximum_rewind_o = edge_done && !ring_last_i;
  assign maximum_last_o   = row_done;
  assign release_o        = row_done;
  assign release_edges_o  = degree_q + 1'b1;

  always_ff @(posedge clk_i) begin
    if (issue) begin
      tile_q     <= tile_last ? '0 : tile_q + 1'b1;
      row_open_q <= !row_done;
      part_q     <= (edge_done || part_q == PartBits'(Parts - 1)) ? '0 : part_q + 1'b1;
      if (edge_done) base_q <= '0;
      else if (part_q == PartBits'(Parts - 1)) base_q <= base_q + HAddressBits'(HCapacity);
    end
    if (ring_pop_o) group_q <= group_last ? '0 : group_q + 1'b1;
    if (edge_done) degree_q <= ring_last_i ? '0 : degree_q + 1'b1;
    if (rst_i) begin
      tile_q     <= '0;
      group_q    <= '0;
      row_open_q <= 1'b0;
      part_q     <= '0;
      base_q     <= '0;
      degree_q   <= '0;
    end
  end

  // Address and difference; memory and table; operands; product.
  /* verilator lint_off UNUSEDSIGNAL */  // a word of H may have a single part
  logic [PartBits-1:0] part_0_q, part_1_q, part_2_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [4:0] valid_q, first_q, last_q, row_last_q, fresh_q;  // fresh: the group's first tile
  // Two registers: a block RAM answers late and is far from some of its multipliers. The whole word first.
  logic [2:0][GroupHeads-1:0][CoefficientBits-1:0] coefficient_q;
  logic [HLanes*ValueBits-1:0] word_q;
  logic [Lanes-1:0][ValueBits-1:0] value_q;
  always_ff @(posedge clk_i) begin
    h_address_o     <= base_q + HAddressBits'(ring_source_i);
    part_0_q        <= part_q;
    part_1_q        <= part_0_q;
    part_2_q        <= part_1_q;
    coefficient_q   <= {coefficient_q[1:0], coefficient_i};
    word_q          <= h_data_i;
    valid_q         <= rst_i ? '0 : {valid_q[3:0], issue};
    first_q         <= {first_q[3:0], degree_q == '0};
    last_q          <= {last_q[3:0], ring_last_i};
    row_last_q      <= {row_last_q[3:0], row_done};
    fresh_q         <= {fresh_q[3:0], tile_q == '0};
    for (int unsigned g = 0; g < GroupHeads; g++) difference_o[g] <= maximum_i[g] - ring_exponent_i[g];
    for (int unsigned l = 0; l < Lanes; l++) begin
      // The lane is cut to LaneBits, so that synthesis finds a multiplexer here and no product.
      /* verilator lint_off WIDTHTRUNC */
      value_q[l] <=
          word_q[PlaceBits'(LaneBits'(part_2_q)*LaneBits'(Lanes)+LaneBits'(l))*PlaceBits'(ValueBits)+:ValueBits];
      /* verilator lint_on WIDTHTRUNC */
    end
  end

  // Sums or maxima of c h, one per tile; sums of c, one per group of heads.
  logic [TileBits-1:0] sum_tile_q;
  logic [GroupBits-1:0] sum_group_q;
  logic [Lanes-1:0][SumBits-1:0] stored, total_d, total_q;
  logic [GroupHeads-1:0][CoefficientSumBits-1:0] coefficients, coefficients_d, coefficients_q;
  logic sum_group_last;
  always_ff @(posedge clk_i) begin
    if (valid_q[4]) sum_tile_q <= (sum_tile_q == TileBits'(Tiles - 1)) ? '0 : sum_tile_q + 1'b1;
    if (valid_q[4] && sum_group_last) begin
      sum_group_q <= (sum_group_q == GroupBits'(HeadGroups - 1)) ? '0 : sum_group_q + 1'b1;
    end
    if (rst_i) begin
      sum_tile_q  <= '0;
      sum_group_q <= '0;
    end
  end
  if (GroupTiles == 1) begin : gen_one_tile
    assign sum_group_last = 1'b1;
  end else begin : gen_tiles
    logic [GroupTileBits-1:0] sum_place_q;
    assign sum_group_last = sum_place_q == GroupTileBits'(GroupTiles - 1);
    always_ff @(posedge clk_i) begin
      if (valid_q[4]) sum_place_q <= sum_group_last ? '0 : sum_place_q + 1'b1;
      if (rst_i) sum_place_q <= '0;
    end
  end
  if (Tiles == 1) begin : gen_sum_register
    logic [Lanes-1:0][SumBits-1:0] sums_q;
    assign stored = sums_q;
    always_ff @(posedge clk_i) if (valid_q[4]) sums_q <= total_d;
  end else begin : gen_sum_memory
    (* ram_style = "distributed" *) logic [Lanes*SumBits-1:0] sums[Tiles];
    assign stored = sums[sum_tile_q];
    always_ff @(posedge clk_i) if (valid_q[4]) sums[sum_tile_q] <= total_d;
  end
  if (HeadGroups == 1) begin : gen_coefficient_register
    logic [GroupHeads-1:0][CoefficientSumBits-1:0] coefficients_r_q;
    assign coefficients = coefficients_r_q;
    always_ff @(posedge clk_i) if (valid_q[4]) coefficients_r_q <= coefficients_d;
  end else begin : gen_coefficient_memory
    (* ram_style = "distributed" *) logic [GroupHeads*CoefficientSumBits-1:0] sums[HeadGroups];
    assign coefficients = sums[sum_group_q];
    always_ff @(posedge clk_i) if (valid_q[4]) sums[sum_group_q] <= coefficients_d;
  end
  always_comb begin
    for (int unsigned g = 0; g < GroupHeads; g++) begin
      // For later tiles of a group the sum already contains the edge's coefficient.
      coefficients_d[g] = ((first_q[4] && fresh_q[4]) ? '0 : coefficients[g]) +
                          (fresh_q[4] ? CoefficientSumBits'(coefficient_q[2][g]) : '0);
    end
  end
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    localparam int unsigned Head = (l / HeadLanes) % GroupHeads;
    logic signed [ValueBits+CoefficientBits:0] product;
    logic signed [SumBits-1:0] message;
    fgnas_multiplier #(.LeftBits(ValueBits), .RightBits(CoefficientBits + 1), .UseDsp(l < DspLanes)) u_multiplier (
      .clk_i(clk_i), .left_i(value_q[l]), .right_i({1'b0, coefficient_q[1][Head]}), .product_o(product)
    );
    assign message = SumBits'(signed'(product[ValueBits+CoefficientBits-1:0]));
    if (Maximum) begin : gen_maximum
      assign total_d[l] = (first_q[4] || message > signed'(stored[l])) ? message : stored[l];
    end else begin : gen_sum
      assign total_d[l] = message + (first_q[4] ? '0 : stored[l]);
    end
    /* verilator lint_off UNUSEDSIGNAL */
    logic unused;
    assign unused = product[ValueBits+CoefficientBits];
    /* verilator lint_on UNUSEDSIGNAL */
  end
  logic done_q, row_done_q;
  always_ff @(posedge clk_i) begin
    total_q        <= total_d;
    coefficients_q <= coefficients_d;
    done_q         <= valid_q[4] && last_q[4] && !rst_i;
    row_done_q     <= valid_q[4] && row_last_q[4] && !rst_i;
  end

  // The denominator: a mean multiplies it by the degree, which takes one more cycle.
  localparam int unsigned Delay = YBits + 3;
  logic [Lanes-1:0][SumBits-1:0] numerator;
  logic [GroupHeads-1:0][DenominatorBits-1:0] denominator;
  logic start, start_last;
  if (Mean) begin : gen_mean
    logic [DegreeBits-1:0] degree_at_q[6];
    logic [GroupHeads-1:0][DenominatorBits-1:0] denominator_q;
    logic [Lanes-1:0][SumBits-1:0] numerator_q;
    logic start_q, start_last_q;
    always_ff @(posedge clk_i) begin
      degree_at_q  <= '{degree_q + 1'b1, degree_at_q[0], degree_at_q[1], degree_at_q[2], degree_at_q[3],
                        degree_at_q[4]};
      numerator_q  <= total_q;
      start_q      <= done_q && !rst_i;
      start_last_q <= row_done_q && !rst_i;
      for (int unsigned g = 0; g < GroupHeads; g++) begin
        denominator_q[g] <= DenominatorBits'(coefficients_q[g]) * DenominatorBits'(degree_at_q[5]);
      end
    end
    assign numerator   = numerator_q;
    assign denominator = denominator_q;
    assign start       = start_q;
    assign start_last  = start_last_q;
  end else begin : gen_no_mean
    assign numerator   = total_q;
    assign denominator = coefficients_q;
    assign start       = done_q;
    assign start_last  = row_done_q;
  end

  logic [Delay-1:0] write_q, write_last_q;
  always_ff @(posedge clk_i) begin
    write_q      <= rst_i ? '0 : {write_q[Delay-2:0], start};
    write_last_q <= rst_i ? '0 : {write_last_q[Delay-2:0], start_last};
  end
  assign write_o      = write_q[Delay-1];
  assign write_last_o = write_last_q[Delay-1];
  for (genvar l = 0; l < Lanes; l++) begin : gen_divide
    localparam int unsigned Head = (l / HeadLanes) % GroupHeads;
    logic signed [YBits:0] quotient;
    fgnas_divider #(
      .NumeratorBits(SumBits + Left), .DenominatorBits(DenominatorBits), .QuotientBits(YBits)
    ) u_divider (
      .clk_i        (clk_i),
      .numerator_i  ((SumBits + Left)'(signed'(numerator[l])) <<< Left),
      .denominator_i(denominator[Head]),
      .quotient_o   (quotient)
    );
    assign data_o[l] = quotient[YBits-1:0];
    /* verilator lint_off UNUSEDSIGNAL */
    logic unused;
    assign unused = quotient[YBits];
    /* verilator lint_on UNUSEDSIGNAL */
  end
endmodule

`default_nettype wire
