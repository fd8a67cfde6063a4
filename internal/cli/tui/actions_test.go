package tui_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/ccm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/command"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/fault"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/taint"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/vm"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/volume"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/intent"
)

// requests is a sandbox that takes down every request to change something, and does nothing.
type requests struct {
	socket string
	mu     sync.Mutex
	got    []string
}

func serve(t *testing.T) *requests {
	t.Helper()
	dir, err := os.MkdirTemp("", "tui") // its path has to be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &requests{socket: filepath.Join(dir, "s")}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", s.socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: s}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(l) }()
	t.Cleanup(func() { server.Close(); <-served })
	return s
}

func (s *requests) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got = append(s.got, r.Method+" "+r.URL.Path+" "+strings.TrimSpace(string(body)))
	var answer any = api.Done{Message: "done"}
	switch r.URL.Path {
	case "/v1/faults":
		answer = api.Lease{ID: "f1", State: "active"}
	case "/v1/heal":
		answer = []api.Lease{}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// took returns what was asked for since it was called last.
func (s *requests) took() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	got := s.got
	s.got = nil
	return got
}

func actions() []intent.Action {
	all := []intent.Action{
		intent.VM{VMRequest: api.VMRequest{Action: api.Move, VM: "w1", VCenter: "us", Host: "esx-2"}},
		intent.VM{VMRequest: api.VMRequest{Action: api.PowerOn, VM: "-odd name", VCenter: "us"}},
		intent.RestartCCM{},
		intent.OutOfService{OutOfServiceRequest: api.OutOfServiceRequest{Node: "w1"}},
		intent.OutOfService{OutOfServiceRequest: api.OutOfServiceRequest{Node: "w1", Remove: true}},
		intent.Volume{VolumeRequest: api.VolumeRequest{Action: api.DetachVolume, Volume: "default/data"}},
		intent.Volume{VolumeRequest: api.VolumeRequest{Action: api.RelocateVolume, Volume: "data", Datastore: "ds 1"}},
		intent.Gate{GateRequest: api.GateRequest{VCenter: "us", Mode: "slow"}},
		intent.Gate{GateRequest: api.GateRequest{VCenter: "us", Mode: "slow", Delay: api.Duration(1500 * time.Millisecond)}},
		intent.Heal{HealRequest: api.HealRequest{IDs: []string{"f1", "f2"}}},
		intent.Heal{HealRequest: api.HealRequest{All: true}},
		intent.Inject{InjectRequest: api.InjectRequest{Fault: "vm.power-off", On: api.Selector{Names: []string{"w1"}}, For: api.Duration(time.Hour)}},
		intent.Inject{InjectRequest: api.InjectRequest{
			Fault: "vcenter.latency", Mode: "50%", Seed: 7, For: api.Duration(90 * time.Second), DryRun: true,
			Params: map[string]string{"delay": "2s", "client": "ccm"},
			On: api.Selector{
				Names: []string{"u*", "-e"}, VCenter: "a", Datacenter: "b", Cluster: "c", Host: "d", Region: "e", Zone: "f", Role: "worker", Labels: "x=y,z",
			},
		}},
	}
	for _, action := range []api.VMAction{api.PowerOn, api.PowerOff, api.Suspend, api.Reset, api.Hang, api.Destroy} {
		all = append(all, intent.VM{VMRequest: api.VMRequest{Action: action, VM: "w1"}})
	}
	for _, mode := range []string{"up", "down", "hung"} {
		all = append(all, intent.Gate{GateRequest: api.GateRequest{VCenter: "us", Mode: mode}})
	}
	return append(all, intent.Each([]string{"a", "b"}, func(name string) intent.Named {
		return intent.VM{VMRequest: api.VMRequest{Action: api.Destroy, VM: name, VCenter: "us"}}
	}))
}

// The command line that the UI shows for an action asks a sandbox for the same as the action.
func TestCommandLines(t *testing.T) {
	s := serve(t)
	for _, a := range actions() {
		t.Run(intent.Quote(a.Args()...), func(t *testing.T) {
			if _, err := a.Do(t.Context(), api.NewClient(s.socket)); err != nil {
				t.Fatal(err)
			}
			want := s.took()
			e := clitest.NewEnv(nil)
			e.State.Items = []command.Sandbox{{Name: "default", Socket: s.socket, Running: true}}
			root := &cobra.Command{Use: command.Program}
			root.AddCommand(vm.NewCmdVM(e.Deps), vcenter.NewCmdVCenter(e.Deps), volume.NewCmdVolume(e.Deps), taint.NewCmdTaint(e.Deps),
				fault.NewCmdFault(e.Deps), ccm.NewCmdCCM(e.Deps))
			if r := e.Run(t.Context(), root, vcenter.Args(a.Args())...); r.Exit != 0 {
				t.Fatalf("ended with %+v", r)
			}
			if d := cmp.Diff(want, s.took()); d != "" || len(want) == 0 {
				t.Errorf("the command asks otherwise: %s", d)
			}
		})
	}
}
