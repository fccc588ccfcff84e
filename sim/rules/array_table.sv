// The rules of a table that units share: what may be written in a cycle, and what is read.

`default_nettype none

`ifdef PROVE_ARRAY_TABLE
`define FGNAS_TABLE_USER assume
`else
`define FGNAS_TABLE_USER assert
`endif

module array_table_rules #(
  parameter int unsigned WordBits   = 64,
  parameter int unsigned TableWords = 1024,
  parameter int unsigned Readers    = 2,
  parameter int unsigned Banks      = 4,
  parameter int unsigned Written    = 1
) (
  input wire                                            clk_i,
  input wire                                            rst_i,
  input wire                                            valid_i,
  input wire [Readers-1:0]                              absent_i,
  input wire [Readers-1:0][array_pkg::AddressBits-1:0]  address_i,
  /* verilator lint_off UNUSEDSIGNAL */  // what a proof alone looks at
  input wire [Readers-1:0][WordBits-1:0]                word_i,
  input wire [Written-1:0][WordBits-1:0]                write_word_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input wire                                            clash_i,
  input wire [Written-1:0]                              write_i,
  input wire [Written-1:0][array_pkg::AddressBits-1:0]  write_address_i
);
  logic seen_q = 1'b0;  // a reset
  logic [Written-1:0] other_place, no_place;  // words that are not for the banks that take them, or for none
  logic clashes, clashes_q;
  always_comb begin
    for (int unsigned j = 0; j < Written; j++) begin
      other_place[j] = write_i[j] && 32'(write_address_i[j]) % Written != j;
      no_place[j]    = write_i[j] && 32'(write_address_i[j]) >= TableWords;
    end
    clashes = 1'b0;
    for (int unsigned b = 0; b < Banks; b++) begin
      for (int unsigned r = 0; r < Readers; r++) begin
        for (int unsigned other = 0; other < Readers; other++) begin
          if (!absent_i[r] && !absent_i[other] && 32'(address_i[r]) % Banks == b &&
              32'(address_i[other]) % Banks == b && address_i[r] != address_i[other]) clashes = 1'b1;
        end
      end
    end
  end
  always_ff @(posedge clk_i) begin
    clashes_q <= clashes && valid_i && !rst_i;
    if (rst_i) seen_q <= 1'b1;
    if (seen_q && !rst_i) begin
      own_banks: `FGNAS_TABLE_USER (other_place == '0) else $error("a word is not for the banks that may take it");
      has_place: `FGNAS_TABLE_USER (no_place == '0) else $error("a word is written behind the table's end");
      clash_told: assert (clash_i == clashes_q) else $error("a bank is asked for two words, and does not say so");
    end
  end

`ifdef PROVE_ARRAY_TABLE
  // One word, any, is watched: nobody drives `some_address`, so that the proof chooses.
  logic [array_pkg::AddressBits-1:0] some_address, watch_q;
  logic known_q;                // whether the word was written
  logic [WordBits-1:0] value_q;  // what it is
  logic [1:0] expected_q;       // a reader asked for it, a cycle ago and before
  logic [1:0][WordBits-1:0] read_q;  // what it must get
  always_ff @(posedge clk_i) begin
    for (int unsigned j = 0; j < Written; j++) begin
      if (write_i[j] && write_address_i[j] == watch_q) begin
        known_q <= 1'b1;
        value_q <= write_word_i[j];
      end
    end
    expected_q <= {expected_q[0], known_q && valid_i && !absent_i[0] && address_i[0] == watch_q && !clashes};
    read_q     <= {read_q[0], value_q};
    if (rst_i) begin
      watch_q    <= some_address;
      known_q    <= 1'b0;
      expected_q <= '0;
    end
    if (!seen_q) begin
      begins_with_reset: assume (rst_i);
    end
    in_table: assume (32'(watch_q) < TableWords);
    if (seen_q && !rst_i) begin
      reads: assert (!expected_q[1] || word_i[0] == read_q[1]) else $error("a reader gets another word than it asks for");
      // What a proof must be able to reach, or it proves nothing: these must fail.
      reach_read: assert (!(expected_q[1] && read_q[1][0] && write_i == '0));
      reach_clash: assert (!clash_i);
    end
  end
`endif
endmodule

bind array_table array_table_rules #(
  .WordBits(WordBits), .TableWords(TableWords), .Readers(Readers), .Banks(Banks), .Written(Written)
) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .valid_i(valid_i), .absent_i(absent_i), .address_i(address_i), .word_i(word_o),
  .clash_i(clash_o), .write_i(write_i), .write_address_i(write_address_i), .write_word_i(write_word_i)
);

`default_nettype wire
