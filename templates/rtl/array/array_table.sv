// A table that several units read: banks by the last bits of an address, and a crossbar. A bank gives one word a cycle,
// to all units that ask for it. The host lays entries into slot rows so that no bank is asked for two words.

`default_nettype none

module array_table #(
  parameter int unsigned WordBits   = 64,
  parameter int unsigned TableWords = 1024,
  parameter int unsigned Readers    = 2,
  parameter int unsigned Banks      = 4,
  parameter int unsigned Written    = 1   // words that are written in a cycle, of different banks, at most
) (
  input  wire                                            clk_i,
  input  wire                                            rst_i,
  input  wire                                            valid_i,   // words are read
  input  wire  [Readers-1:0]                             absent_i,  // but not by these units
  input  wire  [Readers-1:0][array_pkg::AddressBits-1:0] address_i,
  output logic [Readers-1:0][WordBits-1:0]               word_o,    // two cycles later
  output logic                                           clash_o,   // a bank was asked for two words
  input  wire  [Written-1:0]                             write_i,
  input  wire  [Written-1:0][array_pkg::AddressBits-1:0] write_address_i,
  input  wire  [Written-1:0][WordBits-1:0]               write_word_i
);
  import array_pkg::*;
  localparam int unsigned LogBanks = $clog2(Banks);
  localparam int unsigned Words = TableWords / Banks;
  localparam int unsigned PlaceBits = (Words > 1) ? $clog2(Words) : 1;

  logic [Banks-1:0][WordBits-1:0] read;
  for (genvar b = 0; b < Banks; b++) begin : gen_bank
    localparam int unsigned Own = b % Written;  // the word that it may take
    /* verilator lint_off UNUSEDSIGNAL */  // the last bits name the bank; a memory may be small
    logic [AddressBits-1:0] read_place;
    /* verilator lint_on UNUSEDSIGNAL */
    logic write;
    assign write = write_i[Own] && write_address_i[Own][LogBanks-1:0] == LogBanks'(b);
    // All that ask for this bank ask for one word.
    always_comb begin
      read_place = '0;
      for (int unsigned r = 0; r < Readers; r++) begin
        if (!absent_i[r] && address_i[r][LogBanks-1:0] == LogBanks'(b)) read_place = read_place | address_i[r];
      end
    end
    array_unit_bank #(.Depth(Words), .Width(WordBits)) u_table (
      .clk_i(clk_i), .write_i(write), .write_address_i(PlaceBits'(write_address_i[Own] >> LogBanks)),
      .write_data_i(write_word_i[Own]), .read_address_i(PlaceBits'(read_place >> LogBanks)), .read_data_o(read[b])
    );
  end

  // A reader's word: the banks are halved bit by bit.
  for (genvar r = 0; r < Readers; r++) begin : gen_reader
    logic [1:0][LogBanks-1:0] bank_q;
    logic [LogBanks:0][Banks-1:0][WordBits-1:0] left;
    always_ff @(posedge clk_i) bank_q <= {bank_q[0], address_i[r][LogBanks-1:0]};
    assign left[LogBanks] = read;
    for (genvar bit_of = 0; bit_of < LogBanks; bit_of++) begin : gen_half
      for (genvar b = 0; b < Banks; b++) begin : gen_word
        if (b < (1 << bit_of)) begin : gen_choice
          assign left[bit_of][b] = bank_q[1][bit_of] ? left[bit_of+1][b+(1<<bit_of)] : left[bit_of+1][b];
        end else begin : gen_none
          assign left[bit_of][b] = '0;
        end
      end
    end
    assign word_o[r] = left[0][0];
  end

  logic clash;
  always_comb begin
    clash = 1'b0;
    for (int unsigned r = 1; r < Readers; r++) begin
      for (int unsigned s = 0; s < r; s++) begin
        if (!absent_i[r] && !absent_i[s] && address_i[r] != address_i[s] &&
            address_i[r][LogBanks-1:0] == address_i[s][LogBanks-1:0]) clash = 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i) clash_o <= clash && valid_i && !rst_i;
endmodule

`default_nettype wire
