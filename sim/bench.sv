// The bench around a kernel, generated or a vendor's: the reference memory and a cycle counter.
//
// Python (cocotb) drives s_axi_control; main memory answers here, so that whole graphs run at the simulator's speed.
// The memory accepts addresses and write data at once, sends the first beat of a burst `read_latency` cycles after
// its address and a beat a cycle from there, and answers a write `write_latency` cycles after its last beat. With
// `stall_seed` set, every channel also stalls at random. Beats outside the memory answer SLVERR.
//
// A narrow or slow port is a width converter in front of that memory: each beat occupies its channel for `beat_pace`
// / 1024 cycles, and its handshake is in the last of them.

`default_nettype none
`timescale 1ns / 1ps

module bench #(
  parameter int unsigned MemoryBeats = 1 << 16,
  parameter int unsigned AddressBits = 7         // of s_axi_control
) (
  input  wire                    ap_clk,
  input  wire                    ap_rst_n,
  input  wire  [AddressBits-1:0] s_axi_control_AWADDR,
  input  wire                    s_axi_control_AWVALID,
  output logic                   s_axi_control_AWREADY,
  input  wire  [31:0]            s_axi_control_WDATA,
  input  wire  [3:0]             s_axi_control_WSTRB,
  input  wire                    s_axi_control_WVALID,
  output logic                   s_axi_control_WREADY,
  output logic [1:0]             s_axi_control_BRESP,
  output logic                   s_axi_control_BVALID,
  input  wire                    s_axi_control_BREADY,
  input  wire  [AddressBits-1:0] s_axi_control_ARADDR,
  input  wire                    s_axi_control_ARVALID,
  output logic                   s_axi_control_ARREADY,
  output logic [31:0]            s_axi_control_RDATA,
  output logic [1:0]             s_axi_control_RRESP,
  output logic                   s_axi_control_RVALID,
  input  wire                    s_axi_control_RREADY,
  output logic                   interrupt_o,
  // knobs of the memory, set by Python before a run
  input  wire  [15:0]            read_latency_i,
  input  wire  [15:0]            write_latency_i,
  input  wire  [31:0]            stall_seed_i,
  input  wire  [31:0]            beat_pace_i,    // of a beat of data on either channel, in 1/1024 cycles, 1024 or more
  // first beats of the regions that the kernel reads; a read of one begins a phase. Unused ones are all ones.
  input  wire  [8*32-1:0]        regions_i,
  // the region to write out, in beats
  input  wire                    dump_i,
  input  wire  [31:0]            dump_first_i,
  input  wire  [31:0]            dump_last_i,
  // results
  output logic [63:0]            cycles_o,       // from the accepted start write to the interrupt
  output logic [16*64-1:0]       phase_cycles_o, // when each phase asked for its first beat
  output logic [31:0]            phases_o,
  output logic [63:0]            beats_read_o,
  output logic [63:0]            beats_written_o,
  output logic [31:0]            protocol_errors_o
);
  localparam int unsigned QueueDepth = 16;
  localparam int unsigned PaceBits = 10;         // fraction bits of a time on the ports

  // ---- the kernel ----
  logic [63:0] araddr, awaddr;
  logic [7:0] arlen, awlen;
  logic [2:0] arsize, awsize;
  logic [1:0] arburst, awburst, rresp, bresp;
  logic arvalid, arready, awvalid, awready, rvalid, rready, rlast, wvalid, wready, wlast, bvalid, bready;
  logic [127:0] rdata, wdata;
  logic [15:0] wstrb;
  logic interrupt_line;
  logic read_side_writes, write_side_reads;

  fgnas_top u_kernel (
    .ap_clk(ap_clk), .ap_rst_n(ap_rst_n),
    .s_axi_control_AWADDR(s_axi_control_AWADDR), .s_axi_control_AWVALID(s_axi_control_AWVALID),
    .s_axi_control_AWREADY(s_axi_control_AWREADY), .s_axi_control_WDATA(s_axi_control_WDATA),
    .s_axi_control_WSTRB(s_axi_control_WSTRB), .s_axi_control_WVALID(s_axi_control_WVALID),
    .s_axi_control_WREADY(s_axi_control_WREADY), .s_axi_control_BRESP(s_axi_control_BRESP),
    .s_axi_control_BVALID(s_axi_control_BVALID), .s_axi_control_BREADY(s_axi_control_BREADY),
    .s_axi_control_ARADDR(s_axi_control_ARADDR), .s_axi_control_ARVALID(s_axi_control_ARVALID),
    .s_axi_control_ARREADY(s_axi_control_ARREADY), .s_axi_control_RDATA(s_axi_control_RDATA),
    .s_axi_control_RRESP(s_axi_control_RRESP), .s_axi_control_RVALID(s_axi_control_RVALID),
    .s_axi_control_RREADY(s_axi_control_RREADY), .interrupt(interrupt_line),
    .m_axi_gmem_read_AWREADY(1'b0), .m_axi_gmem_read_AWVALID(read_side_writes), .m_axi_gmem_read_WREADY(1'b0),
    .m_axi_gmem_read_BRESP(2'b0), .m_axi_gmem_read_BID(1'b0), .m_axi_gmem_read_BUSER(1'b0),
    .m_axi_gmem_read_BVALID(1'b0), .m_axi_gmem_read_ARADDR(araddr), .m_axi_gmem_read_ARLEN(arlen),
    .m_axi_gmem_read_ARSIZE(arsize), .m_axi_gmem_read_ARBURST(arburst), .m_axi_gmem_read_ARVALID(arvalid),
    .m_axi_gmem_read_ARREADY(arready), .m_axi_gmem_read_RDATA(rdata), .m_axi_gmem_read_RRESP(rresp),
    .m_axi_gmem_read_RLAST(rlast), .m_axi_gmem_read_RID(1'b0), .m_axi_gmem_read_RUSER(1'b0),
    .m_axi_gmem_read_RVALID(rvalid), .m_axi_gmem_read_RREADY(rready),
    .m_axi_gmem_write_AWADDR(awaddr), .m_axi_gmem_write_AWLEN(awlen), .m_axi_gmem_write_AWSIZE(awsize),
    .m_axi_gmem_write_AWBURST(awburst), .m_axi_gmem_write_AWVALID(awvalid), .m_axi_gmem_write_AWREADY(awready),
    .m_axi_gmem_write_WDATA(wdata), .m_axi_gmem_write_WSTRB(wstrb), .m_axi_gmem_write_WLAST(wlast),
    .m_axi_gmem_write_WVALID(wvalid), .m_axi_gmem_write_WREADY(wready), .m_axi_gmem_write_BRESP(bresp),
    .m_axi_gmem_write_BID(1'b0), .m_axi_gmem_write_BUSER(1'b0), .m_axi_gmem_write_BVALID(bvalid),
    .m_axi_gmem_write_BREADY(bready), .m_axi_gmem_write_ARREADY(1'b0), .m_axi_gmem_write_ARVALID(write_side_reads),
    .m_axi_gmem_write_RDATA(128'b0), .m_axi_gmem_write_RRESP(2'b0), .m_axi_gmem_write_RLAST(1'b0),
    .m_axi_gmem_write_RID(1'b0), .m_axi_gmem_write_RUSER(1'b0), .m_axi_gmem_write_RVALID(1'b0)
  );
  assign interrupt_o = interrupt_line;

  // ---- main memory ----
  logic [127:0] memory[MemoryBeats];
  string image;
  initial if ($value$plusargs("memory=%s", image)) $readmemh(image, memory);

  // Python asks for a region, which is written to the file that +dump= names.
  string dump;
  always_ff @(posedge ap_clk) begin
    if (dump_i && $value$plusargs("dump=%s", dump)) $writememh(dump, memory, dump_first_i, dump_last_i);
  end

  // A stall generator for each channel: a 32-bit xorshift, low half against a threshold.
  function automatic logic [31:0] xorshift(input logic [31:0] x);
    logic [31:0] y;
    y = x ^ (x << 13);
    y = y ^ (y >> 17);
    return y ^ (y << 5);
  endfunction
  logic [31:0] random_q[5];
  logic [4:0] stall;
  always_ff @(posedge ap_clk) begin
    for (int c = 0; c < 5; c++) begin
      random_q[c] <= ap_rst_n ? xorshift(random_q[c]) : (stall_seed_i + 32'(c + 1) * 32'h9e3779b9) | 32'd1;
      stall[c]    <= (stall_seed_i != '0) && random_q[c][7];
    end
  end

  // ---- read channel ----
  typedef struct packed {
    logic [63:0] address;  // in beats
    logic [8:0]  beats;
    logic [63:0] due;      // first cycle in which its first beat may be sent
  } burst_t;
  burst_t reads[QueueDepth];
  int unsigned read_head, read_tail;
  logic [63:0] now;
  assign arready = !stall[0] && (read_tail - read_head < QueueDepth);

  logic [8:0] read_place;
  logic [63:0] read_free, read_sent;  // when the port has sent the last beat, and the next one
  logic read_due;
  always_comb begin
    read_sent = (reads[read_head%QueueDepth].due - 1'b1) << PaceBits;
    read_sent = (read_free > read_sent ? read_free : read_sent) + 64'(beat_pace_i);
    read_due  = (now + 1'b1) << PaceBits >= read_sent;
  end
  always_ff @(posedge ap_clk) begin
    now <= now + 1'b1;
    if (arvalid && arready) begin
      reads[read_tail%QueueDepth] <= '{araddr >> 4, 9'(arlen) + 1'b1, now + 64'(read_latency_i)};
      read_tail <= read_tail + 1;
      if (araddr[3:0] != '0 || arsize != 3'd4 || arburst != 2'b01 || 12'(araddr[11:4]) + 12'(arlen) > 12'd255)
        protocol_errors_o <= protocol_errors_o + 1'b1;
    end
    if (!rvalid || rready) begin
      rvalid <= 1'b0;
      if (read_head != read_tail && read_due && !stall[1]) begin
        automatic logic [63:0] place = reads[read_head%QueueDepth].address + 64'(read_place);
        rvalid <= 1'b1;
        read_free <= read_sent > now << PaceBits ? read_sent : now << PaceBits;
        rdata  <= memory[place%MemoryBeats];
        rresp  <= (place < MemoryBeats) ? 2'b00 : 2'b10;
        rlast  <= read_place == reads[read_head%QueueDepth].beats - 1'b1;
        beats_read_o <= beats_read_o + 1'b1;
        if (read_place == reads[read_head%QueueDepth].beats - 1'b1) begin
          read_place <= '0;
          read_head  <= read_head + 1;
        end else begin
          read_place <= read_place + 1'b1;
        end
      end
    end
    if (!ap_rst_n) begin
      now               <= '0;
      read_head         <= 0;
      read_tail         <= 0;
      read_place        <= '0;
      read_free         <= '0;
      rvalid            <= 1'b0;
      beats_read_o      <= '0;
      protocol_errors_o <= '0;
    end
    if (ap_rst_n && (read_side_writes || write_side_reads)) protocol_errors_o <= protocol_errors_o + 1'b1;
  end

  // ---- write channels ----
  burst_t writes[QueueDepth];
  int unsigned write_head, write_tail, answer_head, answer_tail;
  logic [8:0] write_place;
  logic write_bad;
  logic [63:0] answers[QueueDepth];
  logic [1:0] answer_codes[QueueDepth];
  assign awready = !stall[2] && (write_tail - write_head < QueueDepth);
  logic [31:0] offered_q;  // cycles for which the beat on the channel has been offered
  assign wready = !stall[3] && (write_tail != write_head) && (answer_tail - answer_head < QueueDepth) &&
      (offered_q + 1'b1) << PaceBits >= beat_pace_i;
  always_ff @(posedge ap_clk) begin
    if (awvalid && awready) begin
      writes[write_tail%QueueDepth] <= '{awaddr >> 4, 9'(awlen) + 1'b1, 64'd0};
      write_tail <= write_tail + 1;
      if (awaddr[3:0] != '0 || awsize != 3'd4 || awburst != 2'b01 || 12'(awaddr[11:4]) + 12'(awlen) > 12'd255)
        $error("write burst crosses 4 KiB or is no whole beats");
    end
    offered_q <= (wvalid && !wready) ? offered_q + 1'b1 : '0;
    if (wvalid && wready) begin
      automatic logic [63:0] place = writes[write_head%QueueDepth].address + 64'(write_place);
      automatic logic last = write_place == writes[write_head%QueueDepth].beats - 1'b1;
      automatic logic bad = (write_place == '0 ? 1'b0 : write_bad) || place >= MemoryBeats;
      for (int b = 0; b < 16; b++) if (wstrb[b] && place < MemoryBeats) memory[place%MemoryBeats][8*b+:8] <= wdata[8*b+:8];
      beats_written_o <= beats_written_o + 1'b1;
      write_bad       <= bad;
      if (last != wlast) $error("WLAST is not on the last beat of its burst");
      if (last) begin
        write_place <= '0;
        write_head  <= write_head + 1;
        answers[answer_tail%QueueDepth]      <= now + 64'(write_latency_i);
        answer_codes[answer_tail%QueueDepth] <= bad ? 2'b10 : 2'b00;
        answer_tail <= answer_tail + 1;
      end else begin
        write_place <= write_place + 1'b1;
      end
    end
    if (!bvalid || bready) begin
      bvalid <= 1'b0;
      if (answer_head != answer_tail && now + 1 >= answers[answer_head%QueueDepth] && !stall[4]) begin
        bvalid      <= 1'b1;
        bresp       <= answer_codes[answer_head%QueueDepth];
        answer_head <= answer_head + 1;
      end
    end
    if (!ap_rst_n) begin
      write_head      <= 0;
      write_tail      <= 0;
      answer_head     <= 0;
      answer_tail     <= 0;
      offered_q       <= '0;
      write_place     <= '0;
      bvalid          <= 1'b0;
      beats_written_o <= '0;
    end
  end

  // ---- cycles, from the accepted start write to the interrupt ----
  logic [AddressBits-1:0] address_q;
  logic counting, interrupt_q, started;
  logic [63:0] count;
  assign started = s_axi_control_WVALID && s_axi_control_WREADY && s_axi_control_WDATA[0] &&
      ((s_axi_control_AWVALID && s_axi_control_AWREADY) ? s_axi_control_AWADDR == '0 : address_q == '0);
  logic begins_phase;
  always_comb begin
    begins_phase = 1'b0;
    for (int r = 0; r < 8; r++) if (araddr[63:4] == 60'(regions_i[32*r+:32])) begins_phase = 1'b1;
  end
  always_ff @(posedge ap_clk) begin
    if (s_axi_control_AWVALID && s_axi_control_AWREADY) address_q <= s_axi_control_AWADDR;
    interrupt_q <= interrupt_line;
    count       <= count + 1'b1;
    if (started) begin
      counting <= 1'b1;
      count    <= 64'd1;
    end else if (counting && interrupt_line && !interrupt_q) begin
      counting <= 1'b0;
      cycles_o <= count;
    end
    if (started) begin
      phases_o <= '0;
    end else if (arvalid && arready && phases_o < 32'd16 && begins_phase) begin
      phase_cycles_o[64*phases_o+:64] <= count;
      phases_o <= phases_o + 1'b1;
    end
    if (!ap_rst_n) begin
      counting    <= 1'b0;
      interrupt_q <= 1'b0;
      address_q   <= '1;
      phases_o    <= '0;
    end
  end
endmodule

`default_nettype wire
