// The rules of the write-back: rows are reserved within the room of a queue, and one word of each share is granted.

`default_nettype none

`ifdef PROVE_ARRAY_WRITEBACK
`define FGNAS_WRITEBACK_USER assume
`else
`define FGNAS_WRITEBACK_USER assert
`endif

module array_writeback_rules #(
  parameter int unsigned Units      = 8,
  parameter int unsigned QueueWords = 32,
  parameter int unsigned Results    = 1,
  parameter int unsigned Banks      = 1
) (
  input wire                                      clk_i,
  input wire                                      rst_i,
  input wire                                      start_i,
  /* verilator lint_off UNUSEDSIGNAL */  // most fields belong to other modules
  input wire array_pkg::descriptor_t              d_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input wire [Units-1:0]                          leads_i,
  input wire [Units-1:0]                          reserve_i,
  input wire                                      room_i,
  input wire [Units-1:0]                          waiting_i,
  input wire [Units-1:0]                          grant_i,
  input wire [Units-1:0]                          tile_last_i,
  input wire [Units-1:0]                          next_q_i,
  input wire [Results-1:0][Units-1:0]             shared_i,
  input wire [Results-1:0][Units-1:0]             turn_i,
  input wire [Units-1:0]                          load_i,
  input wire [array_pkg::AddressBits-1:0]         load_address_i,
  input wire [$clog2(Banks):0]                    load_count_i,
  input wire [Units-1:0]                          loaded_i,
  input wire [Results-1:0]                        chosen_i,  // words of results that were chosen, a cycle ago
  input wire [Results-1:0]                        result_i,  // and those that are on the bus
  input wire [Results-1:0][array_pkg::AddressBits-1:0] address_i,
  input wire                                      front_i,   // a beat of logits waits for the writer
  input wire                                      behind_i,  // and one behind it
  input wire                                      to_table_i,
  input wire                                      to_logits_i,
  input wire [$clog2(QueueWords):0]               limit_i,
  input wire [Units-1:0][$clog2(QueueWords):0]    count_q_i
);
  logic seen_q = 1'b0;  // a reset
  logic roomed_q;       // room was seen since rows were reserved last
  logic [Units-1:0] none, full, over;
  always_comb begin
    for (int unsigned u = 0; u < Units; u++) begin
      none[u] = count_q_i[u] == '0;
      full[u] = count_q_i[u] >= limit_i;
      over[u] = count_q_i[u] > limit_i;
    end
  end
  logic ends, asks;
  assign asks = (reserve_i & leads_i) != '0;
  assign ends = (grant_i & tile_last_i) != '0;
  always_ff @(posedge clk_i) begin
    roomed_q <= !asks && (room_i || roomed_q);
    if (rst_i) begin
      seen_q   <= 1'b1;
      roomed_q <= 1'b0;
    end
  end

  // At most one bit of a share is set.
  logic [Results-1:0] several, strange, nowhere;
  always_comb begin
    for (int unsigned r = 0; r < Results; r++) begin
      several[r] = (turn_i[r] & (turn_i[r] - 1'b1)) != '0;
      strange[r] = (turn_i[r] & ~shared_i[r]) != '0;
      nowhere[r] = result_i[r];  // no lane is for the bank of the word
      for (int unsigned q = 0; q < Results; q++) begin
        if (result_i[q] && address_i[q] == address_i[r] && 32'(address_i[r]) % Results == q) nowhere[r] = 1'b0;
      end
    end
  end

`ifdef PROVE_ARRAY_WRITEBACK
  // The descriptor changes where no row is left, and names a mode and a number of words that the engine has.
  logic [array_pkg::ModeBits-1:0] mode_q;
  logic [array_pkg::TileBits-1:0] tiles_q;
  always_ff @(posedge clk_i) begin
    mode_q  <= d_i.mode;
    tiles_q <= d_i.tiles;
    if (!seen_q) begin
      begins_with_reset: assume (rst_i);
    end
    if (seen_q && !rst_i) begin
      stays: assume ((d_i.mode == mode_q && d_i.tiles == tiles_q) || (&none && !asks));
      words: assume (d_i.tiles != '0 && 32'(d_i.tiles) <= QueueWords);
      at_rest: assume (!start_i || (&none && !asks));
    end
  end
`endif
  always_ff @(posedge clk_i) begin
    if (seen_q && !rst_i) begin
      reserves_room: `FGNAS_WRITEBACK_USER (!asks || room_i || roomed_q) else $error("a row is issued without room");
      results_counted: `FGNAS_WRITEBACK_USER ((waiting_i & none) == '0) else $error("a result of no row waits");
      one_source: `FGNAS_WRITEBACK_USER (load_i == '0 || chosen_i == '0)
      else $error("a load meets results");
      within_banks: `FGNAS_WRITEBACK_USER (load_i == '0 || 32'(load_address_i) % Banks + 32'(load_count_i) <= Banks)
      else $error("a load's words pass the last bank");
      one_word: assert (loaded_i == '0 || result_i == '0) else $error("a word of a load meets a result on the bus");
      within_limit: assert (over == '0) else $error("more rows are on their way than a queue holds");
      room_is: assert (!room_i || full == '0) else $error("room is said to be where a queue is full");
      room_stays: assert (!roomed_q || full == '0) else $error("room that was seen is gone");
      one_of_a_share: assert (several == '0) else $error("two units of a share give a word");
      of_the_share: assert (strange == '0) else $error("a unit gives the word of another share");
      waits: assert ((grant_i & ~waiting_i) == '0) else $error("a unit gives a word that it has not");
      in_order: assert (!to_logits_i || grant_i == '0 || grant_i == next_q_i) else $error("logits leave out of order");
      in_front: assert (!behind_i || front_i) else $error("a beat of logits waits behind none");
      a_place: assert (!to_logits_i || grant_i == '0 || !behind_i) else $error("a beat of logits leaves that has no place");
      goes_on: assert (!to_table_i || (grant_i != '0) == (shared_i != '0)) else $error("a table waits for a word that is there");
`ifndef PROVE_ARRAY_WRITEBACK
      for_a_bank: assert (nowhere == '0) else $error("a result is not for the banks that may take it");
`else
      // What a proof must be able to reach, or it proves nothing: these must fail.
      reach_full: assert (full == '0 || !ends || 32'(limit_i) < QueueWords);
      reach_turns: assert (!(to_table_i && grant_i[Units-1] && count_q_i[0] != '0));
`endif
    end
  end
endmodule

bind array_writeback array_writeback_rules #(
  .Units(Units), .QueueWords(QueueWords), .Results(Results), .Banks(Banks)
) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .start_i(start_i), .d_i(d_i), .leads_i(leads), .reserve_i(reserve_i), .room_i(room_o),
  .waiting_i(waiting), .grant_i(grant), .tile_last_i(tile_last), .next_q_i(next_q), .shared_i(shared), .turn_i(turn),
  .load_i(load_i), .load_address_i(load_address_i), .load_count_i(load_count_i), .loaded_i(load_o),
  .chosen_i(turn_valid_q), .result_i(bus_valid_q), .address_i(bus_address), .front_i(valid_o),
  .behind_i(behind_valid_q), .to_table_i(to_table), .to_logits_i(to_logits), .limit_i(limit), .count_q_i(count_q)
);

`default_nettype wire
