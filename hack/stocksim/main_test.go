package main

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/find"
	"github.com/vmware/govmomi/session"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/stocksim"
)

// running is a stand-in that runs until the end of the test.
func running(t *testing.T, s settings) (ready, func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		err := run(ctx, s, w)
		_ = w.CloseWithError(err) // of a pipe, it is nil
		done <- err
	}()
	var got ready
	if err := json.NewDecoder(r).Decode(&got); err != nil {
		t.Fatal(err)
	}
	end := func() error {
		cancel()
		return <-done
	}
	return got, end
}

// TestFurnished finds over the API what the flags say, with a certificate that verifies, and nothing afterwards.
func TestFurnished(t *testing.T) {
	got, end := running(t, settings{
		Options:    stocksim.Options{Address: "127.0.0.1:0", User: "admin", Clusters: 2, VMs: 1, Version: "8.0.3"},
		furnishing: furnishing{nodes: "far", region: "r", diskUUID: true, hardware: "vmx-19"},
	})
	u := &url.URL{Scheme: "https", Host: got.Address, Path: "/sdk", User: url.UserPassword(got.User, got.Password)}
	s := soap.NewClient(u, false)
	if err := s.SetRootCAs(got.CA); err != nil {
		t.Fatal(err)
	}
	vim, err := vim25.NewClient(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	c := &govmomi.Client{Client: vim, SessionManager: session.NewManager(vim)}
	if err := c.Login(t.Context(), u.User); err != nil {
		t.Fatal(err)
	}
	vms, err := find.NewFinder(vim).VirtualMachineList(t.Context(), "/DC0/vm/*")
	if err != nil || len(vms) != 2 {
		t.Fatalf("%d VMs, %v", len(vms), err)
	}
	uuids := map[string]bool{}
	for _, vm := range vms {
		var m mo.VirtualMachine
		if err := vm.Properties(t.Context(), vm.Reference(), []string{"config", "guest", "runtime"}, &m); err != nil {
			t.Fatal(err)
		}
		uuids[m.Config.Uuid] = true
		if !strings.HasPrefix(m.Guest.HostName, "far-") || m.Guest.IpAddress == "" || m.Guest.ToolsRunningStatus != "guestToolsRunning" ||
			m.Config.Version != "vmx-19" || m.Runtime.PowerState != "poweredOn" {
			t.Errorf("%+v, %+v, %s", m.Guest, m.Config.Version, m.Runtime.PowerState)
		}
	}
	if len(uuids) != 2 {
		t.Errorf("UUIDs %v", uuids)
	}
	rc := rest.NewClient(vim)
	if err := rc.Login(t.Context(), u.User); err != nil {
		t.Fatal(err)
	}
	all, err := tags.NewManager(rc).GetTags(t.Context())
	if err != nil || len(all) != 3 { // a region and two zones
		t.Errorf("%+v, %v", all, err)
	}
	c.CloseIdleConnections()
	if err := end(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(got.CA); !os.IsNotExist(err) {
		t.Errorf("the authority's file is left: %v", err)
	}
}

func TestRunRefuses(t *testing.T) {
	if err := run(t.Context(), settings{Options: stocksim.Options{Address: "nowhere"}}, io.Discard); err == nil {
		t.Error("listens nowhere")
	}
	s := settings{Options: stocksim.Options{Address: "127.0.0.1:0", User: "u"}, authority: "/nonexistent/ca.pem"}
	if err := run(t.Context(), s, io.Discard); err == nil || !strings.Contains(err.Error(), fs.ErrNotExist.Error()) && !os.IsNotExist(err) {
		t.Errorf("error %v", err)
	}
}
