// Adds an own row to a finished one: its words are read one after the other as rows are finished, and aligned beside
// the activation; the sum saturates to the descriptor's width. One cycle.

`default_nettype none

module array_unit_residual #(
  parameter int unsigned Bits     = 8,
  parameter int unsigned YBits    = 29,   // of a number that is shifted
  parameter int unsigned Shifts   = 2,
  parameter logic signed [Shifts-1:0][7:0] ShiftBy = '0,
  parameter int unsigned OwnWords = 512,
  localparam int unsigned ResultWidth = fgnas_pkg::WordBits
) (
  input  wire                                              clk_i,
  input  wire                                              rst_i,
  input  wire                                              start_i,
  /* verilator lint_off UNUSEDSIGNAL */  // most fields belong to other modules
  input  wire  array_pkg::descriptor_t                     d_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire                                              next_i,     // the next word of a row is finished
  output logic                                             adds_o,     // own words are read for this
  output logic [array_pkg::AddressBits-1:0]                address_o,
  input  wire  [array_pkg::Lanes*Bits-1:0]                 own_i,
  input  wire                                              valid_i,
  input  wire  [array_pkg::Lanes-1:0][ResultWidth-1:0]     word_i,     // the finished one
  input  wire  signed [ResultWidth-1:0]                    largest_i,  // of the descriptor's width
  output logic                                             valid_o,
  output logic [array_pkg::Lanes-1:0][ResultWidth-1:0]     word_o,
  output logic                                             over_o      // there is no such own word
);
  import array_pkg::*;
  logic [AddressBits-1:0] own_at_q;
  logic [TileBits-1:0] at_tile_q;
  logic adds, row_ends, result_valid_q;
  logic [Lanes-1:0][YBits-1:0] own_d, own_q;
  logic [Lanes-1:0][ResultWidth-1:0] result_q;
  localparam int unsigned NumberBits = (Shifts > 1) ? $clog2(Shifts) : 1;
  // Facts of the descriptor, which are there before it begins.
  logic [NumberBits-1:0] number_q;  // of its shift
  logic [TileBits-1:0] last_tile_q;
  logic [AddressBits-1:0] step_q;   // from a row's last word to the next row
  always_ff @(posedge clk_i) begin
    number_q    <= NumberBits'(d_i.residual_shift);
    adds        <= d_i.residual != '0;
    last_tile_q <= d_i.tiles - 1'b1;
    step_q      <= AddressBits'(d_i.target_tiles - d_i.tiles) + 1'b1;
  end
  assign row_ends  = at_tile_q == last_tile_q;
  assign adds_o    = adds;
  assign address_o = own_at_q;
  assign over_o    = adds && next_i && 32'(own_at_q) >= OwnWords;
  assign valid_o   = result_valid_q;
  assign word_o    = result_q;
  always_ff @(posedge clk_i) begin
    if (next_i) begin
      at_tile_q <= row_ends ? '0 : at_tile_q + 1'b1;
      own_at_q  <= own_at_q + (row_ends ? step_q : AddressBits'(1));
    end
    if (start_i) begin
      at_tile_q <= '0;
      own_at_q  <= d_i.own_base;
    end
    result_valid_q <= valid_i && !rst_i;
  end
  for (genvar l = 0; l < Lanes; l++) begin : gen_add
    localparam int unsigned BothBits = (YBits > ResultWidth ? YBits : ResultWidth) + 1;
    logic signed [BothBits-1:0] both;
    logic [YBits-1:0] shifted;
    logic up;
    logic [ResultWidth-1:0] saturated;
    array_unit_align #(.YBits(YBits), .Shifts(Shifts), .ShiftBy(ShiftBy)) u_align (
      .value_i(YBits'(signed'(own_i[l*Bits+:Bits]))), .number_i(number_q), .value_o(shifted), .up_o(up)
    );
    assign own_d[l] = shifted + YBits'(up);
    assign both = BothBits'(signed'(word_i[l])) + BothBits'(signed'(own_q[l]));
    array_unit_saturate #(.Width(BothBits)) u_saturate (
      .value_i(both), .largest_i(largest_i), .value_o(saturated)
    );
    always_ff @(posedge clk_i) begin
      own_q[l]    <= adds ? own_d[l] : '0;
      result_q[l] <= saturated;
    end
  end
endmodule

`default_nettype wire
