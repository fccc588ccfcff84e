// A table that several units read: banks by the last bits of an address, and a crossbar. A bank gives one word a cycle,
// to all units that ask for it. The host lays entries into slot rows so that no bank is asked for two words.

`default_nettype none

module array_table #(
  parameter int unsigned WordBits   = 64,
  parameter int unsigned TableWords = 1024,
  parameter int unsigned Readers    = 2,
  parameter int unsigned Banks      = 4,
  parameter int unsigned Loaded     = 1,  // words that a load brings in a cycle, at most
  parameter int unsigned Results    = 1   // words of H that are written in a cycle, of different banks
) (
  input  wire                                            clk_i,
  input  wire                                            rst_i,
  input  wire                                            valid_i,   // words are read
  input  wire  [Readers-1:0]                             absent_i,  // but not by these units
  input  wire  [Readers-1:0][array_pkg::AddressBits-1:0] address_i,
  output logic [Readers-1:0][WordBits-1:0]               word_o,    // a cycle later
  output logic                                           clash_o,   // a bank was asked for two words
  input  wire                                            load_i,
  input  wire  [array_pkg::AddressBits-1:0]              load_address_i,
  input  wire  [$clog2(Loaded):0]                        load_count_i,
  input  wire  [Loaded-1:0][WordBits-1:0]                load_word_i,
  input  wire  [Results-1:0]                             write_i,
  input  wire  [Results-1:0][array_pkg::AddressBits-1:0] write_address_i,
  input  wire  [Results-1:0][WordBits-1:0]               write_word_i
);
  import array_pkg::*;
  localparam int unsigned LogBanks = $clog2(Banks);
  localparam int unsigned Words = TableWords / Banks;
  localparam int unsigned PlaceBits = (Words > 1) ? $clog2(Words) : 1;

  // What is written must have a place; that the units say what has none is theirs.
  logic over;
  always_comb begin
    over = load_i && 32'(load_address_i) + 32'(load_count_i) > TableWords;
    for (int unsigned r = 0; r < Results; r++) begin
      if (!load_i && write_i[r] && 32'(write_address_i[r]) >= TableWords) over = 1'b1;
    end
  end

  logic [Banks-1:0][WordBits-1:0] read;
  for (genvar b = 0; b < Banks; b++) begin : gen_bank
    // The word that a load has for this bank, counted from the load's first, and the result for it.
    logic [LogBanks-1:0] word;
    /* verilator lint_off UNUSEDSIGNAL */  // the last bits name the bank; a memory may be small
    logic [AddressBits-1:0] load_place, result_place, read_place;
    /* verilator lint_on UNUSEDSIGNAL */
    logic [WordBits-1:0] loaded_word, result_word;
    logic loaded, written;
    assign word       = LogBanks'(b) - load_address_i[LogBanks-1:0];
    assign load_place = load_address_i + AddressBits'(word);
    assign loaded     = load_i && 32'(word) < 32'(load_count_i);
    always_comb begin
      loaded_word  = '0;
      for (int unsigned l = 0; l < Loaded; l++) if (32'(word) == l) loaded_word = load_word_i[l];
      written      = 1'b0;
      result_place = write_address_i[0];
      result_word  = write_word_i[0];
      for (int unsigned r = 0; r < Results; r++) begin
        if (write_i[r] && write_address_i[r][LogBanks-1:0] == LogBanks'(b)) begin
          written      = 1'b1;
          result_place = write_address_i[r];
          result_word  = write_word_i[r];
        end
      end
      // All that ask for this bank ask for one word.
      read_place = '0;
      for (int unsigned r = 0; r < Readers; r++) begin
        if (!absent_i[r] && address_i[r][LogBanks-1:0] == LogBanks'(b)) read_place = read_place | address_i[r];
      end
    end
    fgnas_block_ram #(.Depth(Words), .Width(WordBits)) u_table (
      .clk_i(clk_i), .write_i((loaded || written) && !over),
      .write_address_i(loaded ? PlaceBits'(load_place >> LogBanks) : PlaceBits'(result_place >> LogBanks)),
      .write_data_i(loaded ? loaded_word : result_word),
      .read_address_i(PlaceBits'(read_place >> LogBanks)), .read_data_o(read[b])
    );
  end

  logic [Readers-1:0][LogBanks-1:0] bank_q;
  for (genvar r = 0; r < Readers; r++) begin : gen_reader
    always_ff @(posedge clk_i) bank_q[r] <= address_i[r][LogBanks-1:0];
    always_comb begin
      word_o[r] = '0;
      for (int unsigned b = 0; b < Banks; b++) if (32'(bank_q[r]) == b) word_o[r] = read[b];
    end
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
