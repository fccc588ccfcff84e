// Finishes lanes of a total: they are shifted in the first cycle, messages are divided by the row's coefficients, and a
// cycle later the bias is added and the sum saturates to the descriptor's width.

`default_nettype none

module array_unit_finish #(
  parameter int unsigned Bits            = 8,
  parameter int unsigned SumBits         = 28,
  parameter int unsigned YBits           = 29,    // of a number that is shifted
  parameter int unsigned Shifts          = 2,
  parameter logic signed [Shifts-1:0][7:0] ShiftBy = '0,
  parameter int unsigned BiasWords       = 2,
  parameter int unsigned Finished        = array_pkg::Lanes,  // lanes of a part of a total
  parameter bit          Softmax         = 1'b0,  // attention with scores
  parameter int unsigned DenominatorBits = 16,    // of a row's sum of coefficients
  localparam int unsigned WordBits = array_pkg::Lanes * Bits,
  localparam int unsigned Parts = array_pkg::Lanes / Finished,
  localparam int unsigned PartBits = (Parts > 1) ? $clog2(Parts) : 1
) (
  input  wire                                                clk_i,
  input  wire                                                rst_i,
  /* verilator lint_off UNUSEDSIGNAL */  // most fields belong to other modules
  input  wire  array_pkg::descriptor_t                       d_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input  wire                                                load_i,
  input  wire  [array_pkg::AddressBits-1:0]                  load_address_i,
  input  wire  [WordBits-1:0]                                load_word_i,
  input  wire                                                valid_i,
  input  wire  [Finished-1:0][SumBits-1:0]                   lanes_i,
  input  wire  [array_pkg::TileBits-1:0]                     tile_i,     // the word of the row that they belong to
  input  wire  [PartBits-1:0]                                part_i,     // and their part of it
  /* verilator lint_off UNUSEDSIGNAL */  // without attention nothing is divided
  input  wire                                                messages_i,
  input  wire  [DenominatorBits-1:0]                         divisor_i,  // a cycle later
  /* verilator lint_on UNUSEDSIGNAL */
  output logic                                               quotient_o,  // numbers meet their bias
  output logic                                               valid_o,
  output logic [Finished-1:0][fgnas_pkg::WordBits-1:0]       lanes_o,
  output logic signed [fgnas_pkg::WordBits-1:0]              largest_o,   // of the descriptor's width
  output logic                                               over_o       // a bias has no place
);
  import array_pkg::*;
  localparam int unsigned BiasBits = (BiasWords > 1) ? $clog2(BiasWords) : 1;
  localparam int unsigned ResultWidth = fgnas_pkg::WordBits;
  localparam int unsigned Fine = fgnas_pkg::LogitExtraBits;

  // The lanes are shifted. The bias is read.
  logic [Finished-1:0][YBits-1:0] y_d, y_q;
  (* ram_style = "distributed" *) logic [WordBits-1:0] biases[BiasWords];
  logic [Parts-1:0][Finished*Bits-1:0] bias_word;
  logic [Finished*Bits-1:0] bias_q;
  logic load_bias, y_valid_q, u_valid_q, quotient_valid;
  /* verilator lint_off UNUSEDSIGNAL */  // there may be few tiles
  logic [TileBits-1:0] bias_tile;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [PartBits-1:0] bias_part;
  for (genvar l = 0; l < Finished; l++) begin : gen_shift
    array_unit_align #(.YBits(YBits), .Shifts(Shifts), .ShiftBy(ShiftBy), .NumberBits($bits(d_i.shift))) u_align (
      .value_i(YBits'(signed'(lanes_i[l]))), .number_i(d_i.shift), .value_o(y_d[l])
    );
  end
  assign load_bias  = load_i && d_i.target == 3'(TargetBias);
  assign over_o     = load_bias && 32'(load_address_i) >= BiasWords;
  assign bias_word  = biases[BiasBits'(d_i.bias_base) + BiasBits'(bias_tile)];
  assign quotient_o = quotient_valid;
  assign valid_o    = u_valid_q;
  always_ff @(posedge clk_i) begin
    if (load_bias) biases[BiasBits'(load_address_i)] <= load_word_i;
    bias_q    <= (d_i.bias != '0) ? bias_word[bias_part] : '0;
    y_q       <= y_d;
    y_valid_q <= valid_i && !rst_i;
    u_valid_q <= quotient_valid && !rst_i;
  end

  // Messages are divided by the row's coefficients; the bias waits.
  logic [Finished-1:0][YBits-1:0] quotient;
  if (Softmax) begin : gen_divide
    localparam int unsigned QuotientBits = Bits + Fine;
    localparam int unsigned Divides = QuotientBits + 3;
    logic [Divides-1:0] divided_q;
    logic [Divides-1:0][TileBits-1:0] waiting_q;
    logic [Divides-1:0][PartBits-1:0] part_q;
    always_ff @(posedge clk_i) begin
      divided_q <= rst_i ? '0 : {divided_q[Divides-2:0], y_valid_q && messages_i};
      waiting_q <= {waiting_q[Divides-2:0], tile_i};
      part_q    <= {part_q[Divides-2:0], part_i};
    end
    assign bias_tile      = messages_i ? waiting_q[Divides-1] : tile_i;
    assign bias_part      = messages_i ? part_q[Divides-1] : part_i;
    assign quotient_valid = messages_i ? divided_q[Divides-1] : y_valid_q;
    for (genvar l = 0; l < Finished; l++) begin : gen_quotient
      logic signed [QuotientBits:0] found;
      fgnas_divider #(
        .NumeratorBits(YBits), .DenominatorBits(DenominatorBits), .QuotientBits(QuotientBits)
      ) u_divider (
        .clk_i(clk_i), .numerator_i(y_q[l]), .denominator_i(divisor_i), .quotient_o(found)
      );
      assign quotient[l] = messages_i ? YBits'(found) : y_q[l];
    end
  end else begin : gen_undivided
    assign bias_tile      = tile_i;
    assign bias_part      = part_i;
    assign quotient_valid = y_valid_q;
    assign quotient       = y_q;
  end

  // The bias is added, and the result saturates.
  assign largest_o = ResultWidth'((17'd1 << (d_i.bits - 1'b1)) - 17'd1);
  for (genvar l = 0; l < Finished; l++) begin : gen_saturate
    logic signed [Bits+Fine-1:0] bias;
    logic signed [YBits:0] u;
    assign bias = (d_i.bias_fine != '0) ? (Bits + Fine)'(signed'(bias_q[l*Bits+:Bits])) <<< Fine
                                        : (Bits + Fine)'(signed'(bias_q[l*Bits+:Bits]));
    assign u    = (YBits + 1)'(signed'(quotient[l])) + (YBits + 1)'(bias);
    always_ff @(posedge clk_i) begin
      if (u > (YBits + 1)'(largest_o)) lanes_o[l] <= largest_o;
      else if (u < (YBits + 1)'(~largest_o)) lanes_o[l] <= ~largest_o;
      else lanes_o[l] <= u[ResultWidth-1:0];
    end
  end
endmodule

`default_nettype wire
