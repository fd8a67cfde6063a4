package program

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// Sandbox is a sandbox of a home. Its methods may be called from the goroutine of the test only.
type Sandbox struct {
	Name   string
	Client *api.Client

	home *Home
}

// Attach returns the sandbox of that name, which runs or will.
func (h *Home) Attach(name string) *Sandbox {
	// Not by package instance, which trusts no directory of another user's, and we may be root.
	dir := filepath.Join(h.State, name)
	socket := filepath.Join(dir, "control.sock")
	if short, err := os.ReadFile(filepath.Join(dir, "socket-dir")); err == nil && len(socket) > 103 {
		socket = filepath.Join(strings.TrimSpace(string(short)), "control.sock")
	}
	return &Sandbox{Name: name, Client: api.NewClient(socket), home: h}
}

// Run runs a command about this sandbox, which has to end well.
func (s *Sandbox) Run(args ...string) string {
	s.home.T.Helper()
	return s.home.Must(append([]string{"--name", s.Name}, args...)...)
}

// Kubectl runs the built-in kubectl and decodes its JSON.
func Kubectl[T any](s *Sandbox, args ...string) (v T) {
	s.home.T.Helper()
	out := s.Run(append([]string{"kubectl"}, append(args, "-o", "json")...)...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		s.home.T.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return v
}

// Status is what the sandbox says of itself.
func (s *Sandbox) Status() api.Status {
	s.home.T.Helper()
	st, err := s.Client.Status(s.home.T.Context())
	if err != nil {
		s.home.T.Fatal(err)
	}
	return st
}

// Nodes are the rows of all nodes.
func (s *Sandbox) Nodes() []api.Node {
	s.home.T.Helper()
	nodes, err := s.Client.Nodes(s.home.T.Context())
	if err != nil {
		s.home.T.Fatal(err)
	}
	return nodes
}

// Node is the row of a node; one that is not there has an empty name.
func (s *Sandbox) Node(name string) api.Node {
	s.home.T.Helper()
	for _, n := range s.Nodes() {
		if n.Name == name {
			return n
		}
	}
	return api.Node{}
}

// Component is the row of a component; one that is not there has an empty name.
func (s *Sandbox) Component(name string) api.Component {
	s.home.T.Helper()
	for _, c := range s.Status().Components {
		if c.Name == name {
			return c
		}
	}
	return api.Component{}
}

// Last is the newest event's number.
func (s *Sandbox) Last() uint64 {
	var last uint64
	_ = s.Client.Events(s.home.T.Context(), 0, false, func(e event.Event, _ uint64) error { last = e.Seq; return nil })
	return last
}

// Since returns the events after a number whose kind begins so.
func (s *Sandbox) Since(seq uint64, kind string) (list []event.Event) {
	s.home.T.Helper()
	err := s.Client.Events(s.home.T.Context(), seq, false, func(e event.Event, _ uint64) error {
		if strings.HasPrefix(e.Kind, kind) {
			list = append(list, e)
		}
		return nil
	})
	if err != nil {
		s.home.T.Fatal(err)
	}
	return list
}
