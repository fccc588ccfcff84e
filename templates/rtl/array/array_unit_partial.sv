// The partial sums of a unit: a row's total goes on from the partial one, and may stay as one. Partial sums lie behind
// each other as rows end, so that the memory reads ahead. One cycle.

`default_nettype none

module array_unit_partial #(
  parameter int unsigned SumBits         = 28,
  parameter int unsigned PartialWords    = 64,
  parameter bit          Block           = 1'b0,  // they are in block RAM
  parameter bit          Maximum         = 1'b0,
  parameter int unsigned DenominatorBits = 16     // of a row's sum of coefficients
) (
  input  wire                                      clk_i,
  input  wire                                      rst_i,
  input  wire                                      start_i,
  /* verilator lint_off UNUSEDSIGNAL */  // most fields belong to other modules
  input  wire  array_pkg::descriptor_t             d_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire                                      valid_i,
  input  wire  [array_pkg::Lanes-1:0][SumBits-1:0] total_i,
  input  wire  [DenominatorBits-1:0]               divisor_i,
  output logic                                     valid_o,
  output logic [array_pkg::Lanes-1:0][SumBits-1:0] total_o,
  output logic [DenominatorBits-1:0]               divisor_o,
  output logic                                     over_o      // a partial sum has no place
);
  import array_pkg::*;
  localparam int unsigned PartialBits = (PartialWords > 1) ? $clog2(PartialWords) : 1;
  logic [AddressBits:0] place_q;  // of the next total
  logic [PartialBits-1:0] kept_place_q;
  logic total_valid_q, fits_q, keeps;
  logic [Lanes-1:0][SumBits-1:0] kept, onwards, total_q;
  logic [DenominatorBits-1:0] divisor_q;
  logic [PartialBits-1:0] read_place;
  assign keeps      = d_i.target == 3'(TargetPartial);
  assign read_place = PartialBits'(place_q) + PartialBits'(valid_i);
  assign over_o     = total_valid_q && !fits_q && (keeps || d_i.accumulate != '0);
  assign valid_o    = total_valid_q;
  assign total_o    = total_q;
  assign divisor_o  = divisor_q;
  for (genvar l = 0; l < Lanes; l++) begin : gen_onwards
    always_comb begin
      if (d_i.accumulate == '0) onwards[l] = total_i[l];
      else if (!Maximum || d_i.reduce == '0) onwards[l] = total_i[l] + kept[l];
      else onwards[l] = (signed'(total_i[l]) > signed'(kept[l])) ? total_i[l] : kept[l];
    end
  end
  always_ff @(posedge clk_i) begin
    total_valid_q <= valid_i && !rst_i;
    total_q       <= onwards;
    divisor_q     <= divisor_i;
    kept_place_q  <= PartialBits'(place_q);
    fits_q        <= 32'(place_q) < PartialWords;
    if (valid_i) place_q <= place_q + 1'b1;
    if (start_i) place_q <= '0;
  end
  array_unit_rows #(.Depth(PartialWords), .Width(Lanes * SumBits), .Block(Block)) u_rows (
    .clk_i(clk_i), .write_i(total_valid_q && keeps && fits_q), .write_address_i(kept_place_q),
    .write_data_i(total_q), .read_address_i(read_place), .read_data_o(kept)
  );
endmodule

`default_nettype wire
