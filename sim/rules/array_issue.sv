// The rules of the issue: what is issued was asked for, has its beats and room for its results, and comes to an end.

`default_nettype none

`ifdef PROVE_ARRAY_ISSUE
`define FGNAS_ISSUE_USER assume
`else
`define FGNAS_ISSUE_USER assert
`endif

module array_issue_rules #(
  parameter int unsigned Units = 8
) (
  input wire                                     clk_i,
  input wire                                     rst_i,
  input wire                                     start_i,
  /* verilator lint_off UNUSEDSIGNAL */  // what a proof alone looks at
  input wire array_pkg::descriptor_t             d_i,
  input wire [31:0]                              modes_i,
  input wire                                     dense_i,
  input wire [array_pkg::TileBits-1:0]           met_i,
  input wire [31:0]                              last_part_i,
  input wire [31:0]                              last_group_i,
  input wire                                     facts_there_i,  // the facts are those of the descriptor
  input wire [31:0]                              part_q_i,
  input wire [31:0]                              group_q_i,
  input wire [array_pkg::EntriesBits-1:0]        element_q_i,
  input wire                                     load_i,
  input wire                                     collect_i,
  /* verilator lint_on UNUSEDSIGNAL */
  input wire                                     active_q_i,
  input wire [array_pkg::CountBits-1:0]          left_q_i,
  input wire [array_pkg::TileBits-1:0]           tile_q_i,
  input wire                                     go_i,
  input wire                                     beat_valid_i,
  input wire                                     pop_i,
  input wire                                     room_i,
  input wire [Units-1:0]                         reserve_i,
  input wire                                     valid_i,
  input wire                                     step_i,
  input wire [Units-1:0]                         loads_i
);
  logic seen_q = 1'b0;  // a reset
  array_pkg::descriptor_t d_q;
  always_ff @(posedge clk_i) begin
    d_q <= d_i;
    if (rst_i) seen_q <= 1'b1;
    if (seen_q && !rst_i) begin
      some_count: `FGNAS_ISSUE_USER (!start_i || d_i.count != '0) else $error("a descriptor of nothing begins");
      settled: `FGNAS_ISSUE_USER (!start_i || d_i == d_q) else $error("a descriptor begins in its first cycle");
      at_rest: `FGNAS_ISSUE_USER (!start_i || !active_q_i) else $error("a descriptor begins before the last one ends");
      some_left: assert (!active_q_i || left_q_i != '0) else $error("more is issued than a descriptor names");
      pops_beats: assert (!pop_i || beat_valid_i) else $error("a beat is taken that is not there");
      begins_with_room: assert (!(go_i && tile_q_i == '0) || room_i) else $error("a slot row is issued without room");
      rows_issued: assert (reserve_i == '0 || (go_i && active_q_i)) else $error("a row ends that is not issued");
      rests: assert (active_q_i || !(pop_i || go_i)) else $error("a descriptor goes on behind its end");
      one_step: assert (!(go_i && step_i)) else $error("a row is issued while a step of a load is under way");
      one_kind: assert (!(valid_i && loads_i != '0)) else $error("words are loaded while rows are issued");
    end
  end

`ifdef PROVE_ARRAY_ISSUE
  // In every cycle of a descriptor it waits for a beat or for room, or goes on: what is left falls, or a place within it
  // rises, up to a bound. So it ends.
  logic works, works_q, active_last_q, tile_rises, part_rises, group_rises, element_rises, same_left, same_element;
  logic [array_pkg::CountBits-1:0] left_q;
  logic [array_pkg::TileBits-1:0] tile_q;
  logic [31:0] part_q, group_q;
  logic [array_pkg::EntriesBits-1:0] element_q;
  assign works         = active_q_i && (go_i || collect_i || load_i);
  assign same_left     = left_q_i == left_q;
  assign element_rises = element_q_i > element_q;
  assign same_element  = element_q_i == element_q;
  assign tile_rises    = tile_q_i > tile_q;
  assign part_rises    = tile_q_i == tile_q && part_q_i > part_q;
  assign group_rises   = group_q_i > group_q;
  always_ff @(posedge clk_i) begin
    works_q   <= works && !rst_i && !start_i;
    active_last_q <= active_q_i;
    left_q    <= left_q_i;
    tile_q    <= tile_q_i;
    part_q    <= part_q_i;
    group_q   <= group_q_i;
    element_q <= element_q_i;
    if (rst_i) active_last_q <= 1'b0;
    if (!seen_q) begin
      begins_with_reset: assume (rst_i);
    end
    if (seen_q && !rst_i) begin
      stays: assume (!active_q_i || start_i || d_i == d_q);
      engines: assume (d_i.tiles != '0 && d_i.entries != '0 && 32'(d_i.mode) < modes_i &&
                       d_i.operation != 2'(array_pkg::OperationAttend));
      falls: assert (!works_q || !active_q_i || left_q_i < left_q ||
                     (same_left && (element_rises || (same_element && (tile_rises || part_rises || group_rises)))))
      else $error("a descriptor does not come nearer its end");
      facts: assert (!active_q_i || facts_there_i) else $error("a descriptor meets the facts of another one");
      tiles: assert (!active_q_i || tile_q_i < met_i);
      parts: assert (!active_q_i || part_q_i <= last_part_i);
      groups: assert (!active_q_i || group_q_i <= last_group_i);
      elements: assert (!active_q_i || element_q_i < d_i.entries);
      // What a proof must be able to reach, or it proves nothing: these must fail.
      reach_parts: assert (!(go_i && part_q_i != '0 && tile_q_i != '0));
      reach_end: assert (!(active_last_q && !active_q_i && dense_i && element_q != '0));
      reach_loads: assert (!(load_i && group_q_i != '0));
    end
  end
`endif
endmodule

bind array_issue array_issue_rules #(.Units(Units)) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .start_i(start_i), .d_i(d_i), .modes_i(Modes), .dense_i(dense), .met_i(met),
  .last_part_i(32'(facts.last_part)), .last_group_i(32'(facts.last_group)), .facts_there_i(facts == facts_d),
  .part_q_i(32'(part_q)), .group_q_i(32'(group_q)), .element_q_i(element_q), .load_i(load), .collect_i(collect),
  .active_q_i(active_q), .left_q_i(left_q), .tile_q_i(tile_q), .go_i(go), .beat_valid_i(beat_valid_i), .pop_i(pop_o),
  .room_i(room_i), .reserve_i(reserve_o), .valid_i(valid_o), .step_i(step_q), .loads_i(load_o)
);

`default_nettype wire
