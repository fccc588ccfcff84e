// Edges come four a beat, rows by target; H answers a cycle later.

`default_nettype none

module fgnas_aggregate #(
  parameter int unsigned Lanes          = 8,
  parameter int unsigned Tiles          = 2,     // of Lanes features
  parameter int unsigned HLanes         = 8,     // features in a word of H, a multiple of Lanes
  parameter int unsigned HCapacity      = 3072,  // rows of H
  parameter int unsigned HAddressBits   = 13,
  parameter int unsigned ValueBits      = 8,
  parameter bit          Weighted       = 1'b1,  // multiply by the coefficient
  parameter bit          Maximum        = 1'b0,  // else add
  parameter bit          Mean           = 1'b0,  // divide by the degree
  parameter int unsigned SumBits        = 26,    // neither rounds nor overflows
  parameter int          Shift          = 8,     // from the sum's fraction bits to Y's
  parameter int unsigned YBits          = 17,
  parameter int unsigned DegreeCapacity = 256,
  parameter int unsigned DspLanes       = 8      // multipliers in DSP slices, lane 0 first
) (
  input  wire                                clk_i,
  input  wire                                rst_i,
  input  wire  [fgnas_pkg::RegisterBits-1:0] nodes_i,
  input  wire                                beat_valid_i,
  /* verilator lint_off UNUSEDSIGNAL */  // the top byte of an edge beat is empty
  input  wire  fgnas_pkg::beat_t             beat_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic                               beat_pop_o,
  output logic [HAddressBits-1:0]            h_address_o,
  input  wire  [HLanes*ValueBits-1:0]        h_data_i,
  input  wire                                free_i,
  output logic                               reserve_o,
  output logic                               write_o,
  output logic                               write_last_o,
  output logic [Lanes-1:0][YBits-1:0]        data_o,
  output logic                               row_issued_o,  // the row's last issue
  output logic                               degree_error_o,
  output logic                               source_error_o
);
  localparam int unsigned TileBits = (Tiles > 1) ? $clog2(Tiles) : 1;
  localparam int unsigned Parts = HLanes / Lanes;
  localparam int unsigned PartBits = (Parts > 1) ? $clog2(Parts) : 1;
  localparam int unsigned LaneBits = (HLanes > 1) ? $clog2(HLanes) : 1;
  localparam int unsigned PlaceBits = LaneBits + $clog2(ValueBits + 1);  // of a bit in a word of H
  localparam int unsigned DegreeBits = $clog2(DegreeCapacity + 1) + 1;
  localparam int unsigned CoefficientBits = fgnas_pkg::EdgeCoefficientBits;
  localparam int unsigned ProductBits = ValueBits + (Weighted ? CoefficientBits : 0);

  if (fgnas_pkg::EdgesPerBeat != 4) begin : gen_check
    $error("a beat has four edges here");
  end

  // Issue: a tile of the front edge in every cycle in which the output buffer has room for the row.
  logic [1:0] edge_q;
  /* verilator lint_off UNUSEDSIGNAL */  // plain sums leave the coefficient alone
  fgnas_pkg::edge_t in_front;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [TileBits-1:0] tile_q;
  logic [PartBits-1:0] part_q;
  logic [HAddressBits-1:0] base_q;
  logic [DegreeBits-1:0] degree_q;  // edges of the previous row
  logic row_open_q, beat_last_q, tile_last, issue, row_last, first_edge, edge_done;

  always_comb begin
    unique case (edge_q)
      2'd0: in_front = beat_i[0*fgnas_pkg::EdgeBits+:fgnas_pkg::EdgeBits];
      2'd1: in_front = beat_i[1*fgnas_pkg::EdgeBits+:fgnas_pkg::EdgeBits];
      2'd2: in_front = beat_i[2*fgnas_pkg::EdgeBits+:fgnas_pkg::EdgeBits];
      default: in_front = beat_i[3*fgnas_pkg::EdgeBits+:fgnas_pkg::EdgeBits];
    endcase
  end
  assign tile_last    = tile_q == TileBits'(Tiles - 1);
  assign row_last     = in_front.last;
  assign first_edge   = degree_q == '0;
  assign issue        = beat_valid_i && (row_open_q || free_i);
  assign edge_done    = issue && tile_last;
  assign beat_pop_o   = issue && beat_last_q;
  assign reserve_o    = issue && !row_open_q;
  assign row_issued_o = edge_done && row_last;

  always_ff @(posedge clk_i) begin
    if (issue) begin
      tile_q     <= tile_last ? '0 : tile_q + 1'b1;
      part_q     <= (tile_last || part_q == PartBits'(Parts - 1)) ? '0 : part_q + 1'b1;
      row_open_q <= !row_issued_o;
      // Whether the beat's last issue is next: a register, because the beats behind it depend on it.
      beat_last_q <= (Tiles == 1) ? edge_q == 2'd2 : edge_q == 2'd3 && 32'(tile_q) == Tiles - 2;
      if (tile_last) base_q <= '0;
      else if (part_q == PartBits'(Parts - 1)) base_q <= base_q + HAddressBits'(HCapacity);
    end
    if (edge_done) begin
      edge_q   <= edge_q + 1'b1;
      degree_q <= row_last ? '0 : degree_q + 1'b1;
    end
    degree_error_o <= edge_done && (degree_q >= DegreeBits'(DegreeCapacity));
    source_error_o <= issue && ((fgnas_pkg::RegisterBits)'(in_front.source) >= nodes_i);
    if (rst_i) begin
      tile_q         <= '0;
      part_q         <= '0;
      row_open_q     <= 1'b0;
      beat_last_q    <= 1'b0;
      base_q         <= '0;
      edge_q         <= '0;
      degree_q       <= '0;
      degree_error_o <= 1'b0;
      source_error_o <= 1'b0;
    end
  end

  // Address, memory, operands, product: the control of an issue moves along with its data.
  logic [HAddressBits-1:0] address_q;
  /* verilator lint_off UNUSEDSIGNAL */  // a word of H may have a single part
  logic [PartBits-1:0] part_0_q, part_1_q, part_2_q;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [4:0] valid_q, first_q, last_q, row_last_q;
  assign h_address_o = address_q;
  always_ff @(posedge clk_i) begin
    address_q  <= base_q + HAddressBits'(in_front.source);
    part_0_q   <= part_q;
    part_1_q   <= part_0_q;
    part_2_q   <= part_1_q;
    valid_q    <= rst_i ? '0 : {valid_q[3:0], issue};
    first_q    <= {first_q[3:0], first_edge};
    last_q     <= {last_q[3:0], row_last};
    row_last_q <= {row_last_q[3:0], row_last && tile_last};
  end

  // Two registers: a block RAM answers late and is far from some of its multipliers. First the word, then its part.
  logic [HLanes*ValueBits-1:0] word_q;
  logic [Lanes-1:0][ValueBits-1:0] value_q;
  always_ff @(posedge clk_i) begin
    word_q <= h_data_i;
    for (int unsigned l = 0; l < Lanes; l++) begin
      // The lane is cut to LaneBits, so that synthesis finds a multiplexer here and no product.
      /* verilator lint_off WIDTHTRUNC */
      value_q[l] <=
          word_q[PlaceBits'(LaneBits'(part_2_q)*LaneBits'(Lanes)+LaneBits'(l))*PlaceBits'(ValueBits)+:ValueBits];
      /* verilator lint_on WIDTHTRUNC */
    end
  end

  logic [Lanes-1:0][ProductBits-1:0] message;
  if (Weighted) begin : gen_weighted
    logic [CoefficientBits-1:0] coefficient_q[4];
    always_ff @(posedge clk_i) begin
      coefficient_q <= '{in_front.coefficient, coefficient_q[0], coefficient_q[1], coefficient_q[2]};
    end
    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
      // The coefficient is unsigned; its product keeps one bit less than both: it is at most 256.
      logic signed [ValueBits+CoefficientBits:0] product;
      fgnas_multiplier #(.LeftBits(ValueBits), .RightBits(CoefficientBits + 1), .UseDsp(l < DspLanes)) u_multiplier (
        .clk_i(clk_i), .left_i(value_q[l]), .right_i({1'b0, coefficient_q[3]}), .product_o(product)
      );
      assign message[l] = product[ProductBits-1:0];
      /* verilator lint_off UNUSEDSIGNAL */
      logic unused;
      assign unused = product[ValueBits+CoefficientBits];
      /* verilator lint_on UNUSEDSIGNAL */
    end
  end else begin : gen_plain
    always_ff @(posedge clk_i) message <= value_q;
  end

  // Accumulate: a tile's sum or maximum is read, updated and written back within a cycle.
  logic [TileBits-1:0] sum_tile_q;
  logic [Lanes-1:0][SumBits-1:0] stored, total_d, total_q;
  always_ff @(posedge clk_i) begin
    if (valid_q[4]) sum_tile_q <= (sum_tile_q == TileBits'(Tiles - 1)) ? '0 : sum_tile_q + 1'b1;
    if (rst_i) sum_tile_q <= '0;
  end
  if (Tiles == 1) begin : gen_register
    logic [Lanes-1:0][SumBits-1:0] sums_q;
    assign stored = sums_q;
    always_ff @(posedge clk_i) if (valid_q[4]) sums_q <= total_d;
  end else begin : gen_memory
    (* ram_style = "distributed" *) logic [Lanes*SumBits-1:0] sums[Tiles];
    assign stored = sums[sum_tile_q];
    always_ff @(posedge clk_i) if (valid_q[4]) sums[sum_tile_q] <= total_d;
  end
  for (genvar l = 0; l < Lanes; l++) begin : gen_total
    logic signed [SumBits-1:0] extended;
    assign extended = SumBits'(signed'(message[l]));
    if (Maximum) begin : gen_maximum
      assign total_d[l] = (first_q[4] || extended > signed'(stored[l])) ? extended : stored[l];
    end else begin : gen_sum
      assign total_d[l] = extended + (first_q[4] ? '0 : stored[l]);
    end
  end
  logic done_q, row_done_q;
  always_ff @(posedge clk_i) begin
    total_q    <= total_d;
    done_q     <= valid_q[4] && last_q[4] && !rst_i;
    row_done_q <= valid_q[4] && row_last_q[4] && !rst_i;
  end

  // One rounding: by a shift, or by the division of a mean.
  if (Mean) begin : gen_mean
    localparam int unsigned Left = (Shift < 0) ? -Shift : 0;
    localparam int unsigned Right = (Shift > 0) ? Shift : 0;
    localparam int unsigned Delay = YBits + 3;
    logic [DegreeBits-1:0] degree_at_q[6];  // the row's edges, this one included
    logic [Delay-1:0] write_q, write_last_q;
    always_ff @(posedge clk_i) begin
      degree_at_q  <= '{degree_q + 1'b1, degree_at_q[0], degree_at_q[1], degree_at_q[2], degree_at_q[3],
                        degree_at_q[4]};
      write_q      <= rst_i ? '0 : {write_q[Delay-2:0], done_q};
      write_last_q <= rst_i ? '0 : {write_last_q[Delay-2:0], row_done_q};
    end
    assign write_o      = write_q[Delay-1];
    assign write_last_o = write_last_q[Delay-1];
    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
      logic signed [YBits:0] quotient;
      fgnas_divider #(
        .NumeratorBits(SumBits + Left), .DenominatorBits(DegreeBits + Right), .QuotientBits(YBits)
      ) u_divider (
        .clk_i        (clk_i),
        .numerator_i  ((SumBits + Left)'(signed'(total_q[l])) <<< Left),
        .denominator_i((DegreeBits + Right)'(degree_at_q[5]) << Right),
        .quotient_o   (quotient)
      );
      assign data_o[l] = quotient[YBits-1:0];
      /* verilator lint_off UNUSEDSIGNAL */
      logic unused;
      assign unused = quotient[YBits];
      /* verilator lint_on UNUSEDSIGNAL */
    end
  end else begin : gen_shift
    logic [Lanes-1:0][YBits-1:0] y;
    for (genvar l = 0; l < Lanes; l++) begin : gen_lane
      fgnas_requantise #(.InBits(SumBits), .Shift(Shift), .OutBits(YBits)) u_requantise (
        .value_i(total_q[l]), .value_o(y[l])
      );
    end
    always_ff @(posedge clk_i) begin
      data_o       <= y;
      write_o      <= done_q && !rst_i;
      write_last_o <= row_done_q && !rst_i;
    end
  end
endmodule

`default_nettype wire
