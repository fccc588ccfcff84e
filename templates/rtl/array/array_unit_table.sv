// The table of a unit: banks by the last bits of an address, each with the word that it may take, and the word that is
// read, two cycles later: a bank has a register behind it.

`default_nettype none

module array_unit_table #(
  parameter int unsigned WordBits   = 64,
  parameter int unsigned TableWords = 1024,
  parameter int unsigned Banks      = 1,
  parameter bit          Shared     = 1'b0  // the words are in another module, which gives them as shared_word_i
) (
  /* verilator lint_off UNUSEDSIGNAL */  // a shared table is written and read beside the units; memories may be small
  input  wire                                          clk_i,
  input  wire  [Banks-1:0]                             write_i,
  input  wire  [Banks-1:0][array_pkg::AddressBits-1:0] write_address_i,
  input  wire  [Banks-1:0][WordBits-1:0]               write_word_i,
  input  wire  [WordBits-1:0]                          shared_word_i,
  input  wire  [array_pkg::AddressBits-1:0]            read_address_i,
  /* verilator lint_on UNUSEDSIGNAL */
  output logic [WordBits-1:0]                          word_o  // two cycles later
);
  localparam int unsigned LogBanks = $clog2(Banks);
  localparam int unsigned Words = TableWords / Banks;
  localparam int unsigned PlaceBits = (Words > 1) ? $clog2(Words) : 1;
  if (Shared) begin : gen_shared
    assign word_o = shared_word_i;
  end else begin : gen_banks
    logic [Banks-1:0][WordBits-1:0] read;
    for (genvar b = 0; b < Banks; b++) begin : gen_bank
      array_unit_bank #(.Depth(Words), .Width(WordBits)) u_table (
        .clk_i(clk_i), .write_i(write_i[b]), .write_address_i(PlaceBits'(write_address_i[b] >> LogBanks)),
        .write_data_i(write_word_i[b]), .read_address_i(PlaceBits'(read_address_i >> LogBanks)), .read_data_o(read[b])
      );
    end
    if (Banks == 1) begin : gen_one
      assign word_o = read[0];
    end else begin : gen_choice
      logic [1:0][LogBanks-1:0] bank_q;
      assign word_o = read[bank_q[1]];
      always_ff @(posedge clk_i) bank_q <= {bank_q[0], read_address_i[LogBanks-1:0]};
    end
  end
endmodule

`default_nettype wire
