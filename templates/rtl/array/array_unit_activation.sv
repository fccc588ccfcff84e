// The activation of finished lanes: none, the larger of a number and 0, or a table of codes. Two cycles: a table's
// word, and the code in it.

`default_nettype none

module array_unit_activation #(
  parameter int unsigned Bits            = 8,
  parameter int unsigned ActivationWords = 0,  // no table where 0
  parameter int unsigned Finished        = array_pkg::Lanes,
  localparam int unsigned WordBits = array_pkg::Lanes * Bits,
  localparam int unsigned ResultWidth = fgnas_pkg::WordBits
) (
  input  wire                                    clk_i,
  input  wire                                    rst_i,
  /* verilator lint_off UNUSEDSIGNAL */  // most fields belong to other modules; there may be no table
  input  wire  array_pkg::descriptor_t           d_i,
  input  wire                                    load_i,
  input  wire  [array_pkg::AddressBits-1:0]      load_address_i,
  input  wire  [WordBits-1:0]                    load_word_i,
  input  wire                                    valid_i,
  input  wire  [Finished-1:0][ResultWidth-1:0]   lanes_i,
  input  wire  signed [ResultWidth-1:0]          largest_i,  // of the descriptor's width
  /* verilator lint_on UNUSEDSIGNAL */
  output logic                                   valid_o,
  output logic [Finished-1:0][ResultWidth-1:0]   lanes_o,
  output logic                                   over_o      // a code has no place
);
  import array_pkg::*;
  logic load_codes;
  // Facts of the descriptor, which are there before it begins.
  logic relu_q;
  always_ff @(posedge clk_i) relu_q <= d_i.activation == 2'(ActivationRelu);
  logic [Finished-1:0][ResultWidth-1:0] lanes_q, z_d;  // as they are, and with a table's codes
  logic valid_q;
  assign load_codes = load_i && d_i.target == 3'(TargetActivation);
  assign over_o     = load_codes && 32'(load_address_i) + 1 > ActivationWords;
  if (ActivationWords > 0) begin : gen_table
    localparam int unsigned ActivationBits = (ActivationWords > 1) ? $clog2(ActivationWords) : 1;
    (* ram_style = "distributed" *) logic [WordBits-1:0] codes[ActivationWords];
    always_ff @(posedge clk_i) begin
      if (load_codes) codes[ActivationBits'(load_address_i)] <= load_word_i;
    end
    logic table_q;
    logic [ActivationBits-1:0] base_q;
    always_ff @(posedge clk_i) begin
      table_q <= d_i.activation == 2'(ActivationTable);
      base_q  <= ActivationBits'(d_i.activation_base);
    end
    for (genvar l = 0; l < Finished; l++) begin : gen_lookup
      logic [ResultWidth-1:0] place;
      logic [Lanes-1:0][Bits-1:0] word_q;
      logic [$clog2(Lanes)-1:0] code_q;  // of the word
      assign place = lanes_i[l] & {largest_i[ResultWidth-2:0], 1'b1};
      always_ff @(posedge clk_i) begin
        word_q <= codes[base_q + ActivationBits'(place >> $clog2(Lanes))];
        code_q <= place[$clog2(Lanes)-1:0];
      end
      assign z_d[l] = table_q ? ResultWidth'(signed'(word_q[code_q])) : lanes_q[l];
    end
  end else begin : gen_no_table
    assign z_d = lanes_q;
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned l = 0; l < Finished; l++) begin
      lanes_q[l] <= (relu_q && lanes_i[l][ResultWidth-1]) ? '0 : lanes_i[l];
    end
    valid_q <= valid_i && !rst_i;
    valid_o <= valid_q && !rst_i;
    lanes_o <= z_d;
  end
endmodule

`default_nettype wire
