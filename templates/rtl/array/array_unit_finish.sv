// Finishes lanes of a total: they are shifted in the first cycle, messages are divided by the row's coefficients, and a
// cycle later (with attention two) the bias is added and the sum saturates to the descriptor's width.

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
  output logic                                               next_o,      // a cycle later, numbers meet their bias
  output logic                                               valid_o,
  output logic [Finished-1:0][fgnas_pkg::WordBits-1:0]       lanes_o,
  output logic signed [fgnas_pkg::WordBits-1:0]              largest_o,   // of the descriptor's width
  output logic                                               over_o       // a bias has no place
);
  import array_pkg::*;
  localparam int unsigned BiasBits = (BiasWords > 1) ? $clog2(BiasWords) : 1;
  localparam int unsigned ResultWidth = fgnas_pkg::WordBits;
  localparam int unsigned Fine = fgnas_pkg::LogitExtraBits;

  // Facts of the descriptor, which are there before it begins.
  localparam int unsigned NumberBits = (Shifts > 1) ? $clog2(Shifts) : 1;
  logic [NumberBits-1:0] number_q;  // of its shift
  logic [ResultWidth-1:0] largest_q;
  assign largest_o = largest_q;
  always_ff @(posedge clk_i) begin
    number_q  <= NumberBits'(d_i.shift);
    largest_q <= ResultWidth'((17'd1 << (d_i.bits - 1'b1)) - 17'd1);
  end

  // The lanes are shifted. The bias is read.
  logic [Finished-1:0][YBits-1:0] y_d, y_q;
  (* ram_style = "distributed" *) logic [WordBits-1:0] biases[BiasWords];
  logic [Parts-1:0][Finished-1:0][Bits-1:0] bias_word;
  logic [Finished-1:0][Bits-1:0] bias;
  logic [Finished-1:0][Bits+Fine-1:0] bias_q;
  logic [Finished-1:0] up_d, up_q;  // a shifted lane is rounded up
  logic load_bias, y_valid_q, u_valid_q, quotient_valid;
  /* verilator lint_off UNUSEDSIGNAL */  // there may be few tiles
  logic [TileBits-1:0] bias_tile;
  /* verilator lint_on UNUSEDSIGNAL */
  logic [PartBits-1:0] bias_part;
  for (genvar l = 0; l < Finished; l++) begin : gen_shift
    logic [YBits-1:0] shifted;
    logic up;
    array_unit_align #(.YBits(YBits), .Shifts(Shifts), .ShiftBy(ShiftBy)) u_align (
      .value_i(YBits'(signed'(lanes_i[l]))), .number_i(number_q), .value_o(shifted), .up_o(up)
    );
    // What is divided is rounded before; else the bias's adder does it.
    assign y_d[l]  = Softmax ? shifted + YBits'(up) : shifted;
    assign up_d[l] = !Softmax && up;
  end
  assign load_bias  = load_i && d_i.target == 3'(TargetBias);
  assign over_o     = load_bias && 32'(load_address_i) >= BiasWords;
  assign bias_word  = biases[BiasBits'(d_i.bias_base) + BiasBits'(bias_tile)];
  assign bias       = bias_word[bias_part];
  assign valid_o    = u_valid_q;
  always_ff @(posedge clk_i) begin
    if (load_bias) biases[BiasBits'(load_address_i)] <= load_word_i;
    for (int unsigned l = 0; l < Finished; l++) begin
      bias_q[l] <= (d_i.bias == '0)      ? '0
                   : (d_i.bias_fine != '0) ? (Bits + Fine)'(signed'(bias[l])) <<< Fine
                                           : (Bits + Fine)'(signed'(bias[l]));
    end
    y_q       <= y_d;
    up_q      <= up_d;
    y_valid_q <= valid_i && !rst_i;
    u_valid_q <= quotient_valid && !rst_i;
  end

  // Messages are divided by the row's coefficients; the bias waits. Quotients and numbers that are not divided meet in
  // a register, so that no choice lies before the bias's adder.
  logic [Finished-1:0][YBits-1:0] quotient;
  if (Softmax) begin : gen_divide
    localparam int unsigned QuotientBits = Bits + Fine;
    localparam int unsigned Divides = QuotientBits + 3;
    logic [Divides-1:0] divided_q;
    logic [Divides:0][TileBits-1:0] waiting_q;
    logic [Divides:0][PartBits-1:0] part_q;
    always_ff @(posedge clk_i) begin
      divided_q <= rst_i ? '0 : {divided_q[Divides-2:0], y_valid_q && messages_i};
      waiting_q <= {waiting_q[Divides-1:0], tile_i};
      part_q    <= {part_q[Divides-1:0], part_i};
      quotient_valid <= next_o && !rst_i;
    end
    assign bias_tile = messages_i ? waiting_q[Divides] : waiting_q[0];
    assign bias_part = messages_i ? part_q[Divides] : part_q[0];
    assign next_o    = messages_i ? divided_q[Divides-1] : y_valid_q;
    for (genvar l = 0; l < Finished; l++) begin : gen_quotient
      logic signed [QuotientBits:0] found;
      fgnas_divider #(
        .NumeratorBits(YBits), .DenominatorBits(DenominatorBits), .QuotientBits(QuotientBits)
      ) u_divider (
        .clk_i(clk_i), .numerator_i(y_q[l]), .denominator_i(divisor_i), .quotient_o(found)
      );
      always_ff @(posedge clk_i) quotient[l] <= messages_i ? YBits'(found) : y_q[l];
    end
  end else begin : gen_undivided
    assign bias_tile      = tile_i;
    assign bias_part      = part_i;
    assign quotient_valid = y_valid_q;
    assign next_o         = valid_i;
    assign quotient       = y_q;
  end

  // The bias is added, and the result saturates.
  for (genvar l = 0; l < Finished; l++) begin : gen_saturate
    // The bits behind the numbers carry what rounds up: one adder does both.
    logic [YBits:0] u;
    /* verilator lint_off UNUSEDSIGNAL */
    logic carry;
    /* verilator lint_on UNUSEDSIGNAL */
    logic [ResultWidth-1:0] saturated;
    assign {u, carry} = {(YBits + 1)'(signed'(quotient[l])), 1'b1} + {(YBits + 1)'(signed'(bias_q[l])), up_q[l]};
    array_unit_saturate #(.Width(YBits + 1)) u_saturate (
      .value_i(u), .largest_i(largest_q), .value_o(saturated)
    );
    always_ff @(posedge clk_i) lanes_o[l] <= saturated;
  end
endmodule

`default_nettype wire
