// The rules of the control slave: what a host can rely on. Those of its bus are in axi.sv.

`default_nettype none

module fgnas_control_rules (
  input wire                                      clk_i,
  input wire                                      rst_i,
  input wire [fgnas_pkg::RegisterAddressBits-1:0] awaddr_i,
  input wire                                      awvalid_i,
  input wire                                      awready_i,
  input wire [fgnas_pkg::RegisterBits-1:0]        wdata_i,
  input wire [fgnas_pkg::RegisterBytes-1:0]       wstrb_i,
  input wire                                      wvalid_i,
  input wire                                      wready_i,
  input wire [1:0]                                bresp_i,
  input wire                                      bvalid_i,
  input wire                                      bready_i,
  input wire [fgnas_pkg::RegisterAddressBits-1:0] araddr_i,
  input wire                                      arvalid_i,
  input wire                                      arready_i,
  input wire [fgnas_pkg::RegisterBits-1:0]        rdata_i,
  input wire [1:0]                                rresp_i,
  input wire                                      rvalid_i,
  input wire                                      rready_i,
  input wire                                      start_i,
  input wire                                      stop_i,
  input wire                                      done_i,
  input wire [fgnas_pkg::RegisterBits-1:0]        status_i,
  input wire fgnas_pkg::arguments_t               arguments_i,
  input wire [1:0]                                enable_q_i,
  input wire [1:0]                                interrupt_q_i
);
  axi_lite_rules #(.AddressBits(fgnas_pkg::RegisterAddressBits)) u_bus (
    .clk_i(clk_i), .rst_i(rst_i), .awaddr_i(awaddr_i), .awvalid_i(awvalid_i), .awready_i(awready_i), .wdata_i(wdata_i),
    .wstrb_i(wstrb_i), .wvalid_i(wvalid_i), .wready_i(wready_i), .bresp_i(bresp_i), .bvalid_i(bvalid_i),
    .bready_i(bready_i), .araddr_i(araddr_i), .arvalid_i(arvalid_i), .arready_i(arready_i), .rdata_i(rdata_i),
    .rresp_i(rresp_i), .rvalid_i(rvalid_i), .rready_i(rready_i)
  );

  logic seen_q = 1'b0;  // a reset
  logic write, read, starts, stops;
  assign write  = awvalid_i && awready_i && wvalid_i && wready_i;
  assign read   = arvalid_i && arready_i;
  assign starts = write && awaddr_i == fgnas_pkg::AtControl && wstrb_i[0] && wdata_i[0];
  assign stops  = write && awaddr_i == fgnas_pkg::AtControl && wstrb_i[1] && wdata_i[8];

  logic reads_control_q, reads_status_q, reads_argument_q;  // the response in front is of such a register
  logic unread_q;                        // a done that no read has reported
  logic reported_q;                      // what the read in front must report
  logic started_q;                       // the host's start
  logic stopped_q;                       // the host's stop of a run that has not ended
  logic [1:0] raised_q;                  // interrupts that the last cycle raised
  logic [fgnas_pkg::RegisterBits-1:0] read_d, read_q;  // of the argument, or of the status, that is read
  fgnas_pkg::arguments_t written_d, written_q;
  logic [1:0] write_waited_q, read_waited_q;  // cycles in which the host waited for a READY
  always_comb begin
    read_d    = status_i;
    written_d = arguments_i;
    for (int unsigned a = 0; a < fgnas_pkg::ArgumentWords; a++) begin
      if (araddr_i == fgnas_pkg::ArgumentAt[a]) read_d = arguments_i[a];
      for (int unsigned b = 0; b < fgnas_pkg::RegisterBytes; b++) begin
        if (write && !start_i && awaddr_i == fgnas_pkg::ArgumentAt[a] && wstrb_i[b]) written_d[a][8*b+:8] = wdata_i[8*b+:8];
      end
    end
  end
  logic reads_argument;
  always_comb begin
    reads_argument = 1'b0;
    for (int unsigned a = 0; a < fgnas_pkg::ArgumentWords; a++) begin
      if (araddr_i == fgnas_pkg::ArgumentAt[a]) reads_argument = 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    started_q <= starts;
    stopped_q <= (stops || stop_i) && start_i && !done_i;
    raised_q  <= done_i ? enable_q_i : 2'b00;
    if (read) begin
      reads_control_q  <= araddr_i == fgnas_pkg::AtControl;
      reads_status_q   <= araddr_i == fgnas_pkg::AtStatus;
      reads_argument_q <= reads_argument;
      reported_q       <= unread_q;
      read_q           <= read_d;
    end
    if (done_i) unread_q <= 1'b1;
    else if (read && araddr_i == fgnas_pkg::AtControl) unread_q <= 1'b0;
    written_q <= written_d;
    write_waited_q <= (awvalid_i && wvalid_i && bready_i && !write) ? write_waited_q + 2'(!(&write_waited_q)) : '0;
    read_waited_q  <= (arvalid_i && rready_i && !read) ? read_waited_q + 2'(!(&read_waited_q)) : '0;
    if (rst_i) begin
      seen_q         <= 1'b1;
      unread_q       <= 1'b0;
      started_q      <= 1'b0;
      stopped_q      <= 1'b0;
      raised_q       <= 2'b00;
      write_waited_q <= '0;
      read_waited_q  <= '0;
    end
  end

  logic rst_q;
  always_ff @(posedge clk_i) begin
    rst_q <= rst_i;
    if (seen_q && !rst_i) begin
      if (rvalid_i && reads_control_q) begin
        done_once: assert (rdata_i[1] == reported_q) else $error("a done is reported twice, or never");
      end
      if (rvalid_i && reads_argument_q) begin
        reads_back: assert (rdata_i == read_q) else $error("an argument does not read back");
      end
      if (rvalid_i && reads_status_q) begin
        reads_status: assert (rdata_i == read_q) else $error("the status does not read back");
      end
      if (!rst_q) begin
        writes_bytes: assert (arguments_i == written_q) else $error("a write does not change its bytes alone, or a run's");
      end
      start_held: assert (!started_q || start_i) else $error("a start is lost");
      stop_held: assert (stop_i == stopped_q) else $error("a stop is lost, or meets the next run");
      interrupt_kept: assert ((raised_q & ~interrupt_q_i) == 2'b00) else $error("an interrupt is lost");
      write_comes: assert (write_waited_q <= 2'd1) else $error("AXI4-Lite: a write is not accepted");
      read_comes: assert (read_waited_q <= 2'd1) else $error("AXI4-Lite: a read is not accepted");
`ifdef PROVE_CONTROL
      // What a proof must be able to reach, or it proves nothing: these must fail.
      reach_report: assert (!(rvalid_i && reads_control_q && rdata_i[1]));
      reach_stop: assert (!stop_i);
      reach_clash: assert (!(done_i && read && araddr_i == fgnas_pkg::AtControl && rvalid_i == 1'b0 && unread_q));
`endif
    end
  end
endmodule

bind fgnas_control fgnas_control_rules u_rules (
  .clk_i(clk_i), .rst_i(rst_i), .awaddr_i(awaddr_i), .awvalid_i(awvalid_i), .awready_i(awready_o), .wdata_i(wdata_i),
  .wstrb_i(wstrb_i), .wvalid_i(wvalid_i), .wready_i(wready_o), .bresp_i(bresp_o), .bvalid_i(bvalid_o),
  .bready_i(bready_i), .araddr_i(araddr_i), .arvalid_i(arvalid_i), .arready_i(arready_o), .rdata_i(rdata_o),
  .rresp_i(rresp_o), .rvalid_i(rvalid_o), .rready_i(rready_i), .start_i(start_o), .stop_i(stop_o), .done_i(done_i), .status_i(status_i),
  .arguments_i(arguments_o), .enable_q_i(enable_q), .interrupt_q_i(interrupt_q)
);

`default_nettype wire
