// The rules of the reader: its user's, its promises, and what its registers mean. Those of its bus are in axi.sv, those
// of its buffer in fgnas_fifo.sv.

`default_nettype none

`ifdef PROVE_READER
`define FGNAS_READER_USER assume
`else
`define FGNAS_READER_USER assert
`endif

module fgnas_reader_rules #(
  parameter int unsigned BufferBeats     = 512,
  parameter int unsigned BeatAddressBits = 60,
  parameter int unsigned PageBeats       = 256,
  parameter int unsigned PlaceBits       = 8,
  parameter int unsigned CountBits       = 10
) (
  input wire                               clk_i,
  input wire                               rst_i,
  input wire                               start_i,
  input wire                               cancel_i,
  input wire [fgnas_pkg::AddressBits-1:0]  address_i,
  input wire [fgnas_pkg::RegisterBits-1:0] beats_i,
  input wire                               outstanding_i,
  input wire                               drained_i,
  input wire                               valid_i,
  input wire                               pop_i,
  input wire [fgnas_pkg::AddressBits-1:0]  araddr_i,
  input wire [7:0]                         arlen_i,
  input wire                               arvalid_i,
  input wire                               arready_i,
  input wire                               rvalid_i,
  input wire                               rready_i,
  input wire                               asking_q_i,
  input wire [CountBits-1:0]               reserved_q_i,
  input wire [CountBits-1:0]               outstanding_q_i,
  input wire [CountBits-1:0]               burst_q_i,
  input wire [BeatAddressBits-1:0]         address_q_i,
  input wire [fgnas_pkg::RegisterBits-1:0] left_q_i,
  input wire                               popped_q_i,
  input wire [CountBits-1:0]               held_i,      // by the buffer, in its memory
  input wire [1:0]                         claimed_i,   // and behind it
  input wire                               buffer_seen_i
);
  // The ends of bursts are checked at the kernel's port: the reader does not look at RLAST.
  axi_read_rules #(
    .AddressBits(fgnas_pkg::AddressBits), .DataBits(8 * fgnas_pkg::BeatBytes), .Data(1'b0)
  ) u_bus (
    .clk_i(clk_i), .rst_i(rst_i), .araddr_i(araddr_i), .arlen_i(arlen_i),
    .arsize_i(3'($clog2(fgnas_pkg::BeatBytes))), .arburst_i(2'b01), .arvalid_i(arvalid_i), .arready_i(arready_i),
    .rdata_i('0), .rresp_i(2'b00), .rlast_i(1'b0), .rvalid_i(1'b0), .rready_i(1'b1)
  );
  typedef logic [fgnas_pkg::RegisterBits-1:0] count_t;

  logic seen_q = 1'b0;  // a reset
  count_t ask_q;        // beats of the region without an address
  logic cancelled_q;
  logic read_q;         // a beat of the region was popped
  logic [BeatAddressBits-1:0] next_q;
  logic [CountBits-1:0] owed_q;  // beats that the memory owes
  logic [CountBits-1:0] to_page, burst;
  assign to_page = CountBits'(PageBeats) - CountBits'(next_q[PlaceBits-1:0]);
  assign burst   = (ask_q < count_t'(to_page)) ? CountBits'(ask_q) : to_page;
  always_ff @(posedge clk_i) begin
    owed_q <= owed_q + ((arvalid_i && arready_i) ? CountBits'(arlen_i) + 1'b1 : '0) - CountBits'(rvalid_i && rready_i);
    if (arvalid_i && arready_i) begin
      ask_q  <= ask_q - count_t'(arlen_i) - count_t'(1);
      next_q <= next_q + BeatAddressBits'(arlen_i) + BeatAddressBits'(1);
    end
    if (cancel_i) cancelled_q <= 1'b1;
    if (pop_i) read_q <= 1'b1;
    if (start_i) begin
      ask_q       <= beats_i;
      next_q      <= address_i[fgnas_pkg::AddressBits-1:fgnas_pkg::AlignBits];
      cancelled_q <= 1'b0;
      read_q      <= 1'b0;
    end
    if (rst_i) begin
      seen_q      <= 1'b1;
      ask_q       <= '0;
      owed_q      <= '0;
      cancelled_q <= 1'b0;
      read_q      <= 1'b0;
    end
  end

  always_ff @(posedge clk_i) begin
    one_reset: assert (seen_q == u_bus.seen_q && seen_q == buffer_seen_i);
    if (seen_q && !rst_i) begin
      if (start_i) begin
        starts_idle: `FGNAS_READER_USER (!outstanding_i) else $error("a region is read before the last has arrived");
      end
      pops_valid: `FGNAS_READER_USER (!pop_i || valid_i) else $error("a beat is popped that has not arrived");
      data_owed: `FGNAS_READER_USER (!rvalid_i || owed_q != '0) else $error("AXI: read data without an address");
      if (arvalid_i) begin
        ar_next: assert (araddr_i == {next_q, (fgnas_pkg::AlignBits)'(0)})
        else $error("a read burst is not where the last one ended");
        ar_whole: assert (32'(arlen_i) + 1 == 32'(burst)) else $error("a read burst ends neither with its page nor region");
      end
      // It does not await ARREADY.
      ar_comes: assert (arvalid_i || cancelled_q || ask_q == '0 || 32'(reserved_q_i) > BufferBeats - PageBeats)
      else $error("AXI: ARVALID waits");
      always_room: assert (32'(held_i) + 32'(claimed_i) + 32'(owed_q) <= BufferBeats)
      else $error("more beats are requested than the buffer has room for");
      drained: assert (!drained_i || start_i || ((cancelled_q || ask_q == '0) && owed_q == '0))
      else $error("a region is drained before its last beat");

      // What the registers mean.
      asking: assert (cancelled_q ? (!asking_q_i || ask_q != '0) : asking_q_i == (ask_q != '0))
      else $error("the reader does not know whether it has to ask");
      address: assert (!asking_q_i || address_q_i == next_q) else $error("the reader's address is wrong");
      left: assert (!asking_q_i || left_q_i == ask_q) else $error("the reader's count is wrong");
      burst_right: assert (!asking_q_i || burst_q_i == burst) else $error("the reader's burst is wrong");
      outstanding: assert (outstanding_q_i == owed_q) else $error("the reader counts its outstanding beats wrongly");
      reserved: assert (reserved_q_i == owed_q + held_i + CountBits'(claimed_i) + CountBits'(popped_q_i))
      else $error("the reader counts its reserved beats wrongly");
      bounded: assert (32'(reserved_q_i) <= BufferBeats) else $error("the reader reserves more than its buffer");
`ifdef PROVE_READER
      // What a proof must be able to reach, or it proves nothing: these must fail.
      reach_second: assert (!(arvalid_i && owed_q != '0));
      reach_drained: assert (!(drained_i && read_q));
`endif
    end
  end
endmodule

bind fgnas_reader fgnas_reader_rules #(
  .BufferBeats(BufferBeats), .BeatAddressBits(BeatAddressBits), .PageBeats(PageBeats), .PlaceBits(PlaceBits),
  .CountBits(CountBits)
) u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .start_i(start_i), .cancel_i(cancel_i), .address_i(address_i), .beats_i(beats_i),
  .outstanding_i(outstanding_o), .drained_i(drained_o), .valid_i(valid_o), .pop_i(pop_i), .araddr_i(araddr_o),
  .arlen_i(arlen_o), .arvalid_i(arvalid_o), .arready_i(arready_i), .rvalid_i(rvalid_i), .rready_i(rready_o),
  .asking_q_i(asking_q), .reserved_q_i(reserved_q), .outstanding_q_i(outstanding_q), .burst_q_i(burst_q),
  .address_q_i(address_q), .left_q_i(left_q), .popped_q_i(popped_q), .held_i(u_buffer.held_q),
  .claimed_i(u_buffer.claimed_q), .buffer_seen_i(u_buffer.u_rules.seen_q)
);

`default_nettype wire
