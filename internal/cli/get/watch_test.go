package get

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// lines is a writer whose lines can be waited for.
type lines struct {
	buf  bytes.Buffer
	each chan string
}

func (l *lines) Write(b []byte) (int, error) {
	l.buf.Write(b)
	for {
		line, err := l.buf.ReadString('\n')
		if errors.Is(err, io.EOF) {
			l.buf.WriteString(line)
			return len(b), nil
		}
		l.each <- strings.TrimRight(line, "\n")
	}
}

func (l *lines) next(n int) []string {
	var got []string
	for range n {
		got = append(got, <-l.each)
	}
	return got
}

func TestWatch(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	e := clitest.NewEnv(s)
	out := &lines{each: make(chan string, 100)}
	e.Streams.Out = out
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan report.Record, 1)
	go func() { ended <- e.Run(ctx, NewCmdNodes(e.Deps, nil), "-w") }()

	first := out.next(3)
	if !strings.HasPrefix(first[0], "NAME") || !strings.HasPrefix(first[2], "worker-1.example") {
		t.Fatalf("first: %q", first)
	}
	s.Change(func(w *clitest.World) {
		w.Nodes[1].Ready, w.Nodes[1].Taints = "Unknown", []string{"node.kubernetes.io/unreachable:NoSchedule"}
	}, api.EventLine{})
	if got := strings.Fields(out.next(1)[0]); got[0] != "worker-1.example" || got[4] != "Unknown" || got[5] != "unreachable" {
		t.Errorf("changed: %q", got)
	}
	s.Change(func(w *clitest.World) { w.Nodes = w.Nodes[:1] }, api.EventLine{})
	if d := cmp.Diff([]string{"node/worker-1.example is gone"}, out.next(1)); d != "" {
		t.Error(d)
	}
	cancel()
	if r := <-ended; r.Exit != report.Interrupted {
		t.Errorf("ended with %+v", r)
	}
}

func TestWatchOfNamesAsJSON(t *testing.T) {
	s := clitest.Serve(t, clitest.ZonesUSEU())
	e := clitest.NewEnv(s)
	out := &lines{each: make(chan string, 100)}
	e.Streams.Out = out
	ended := make(chan report.Record, 1)
	go func() { ended <- e.Run(t.Context(), NewCmdVCenters(e.Deps, nil), "eu", "--watch", "-o", "json") }()
	if got := out.next(1)[0]; !strings.HasPrefix(got, `{"name":"eu"`) {
		t.Fatalf("first: %s", got)
	}
	s.Change(func(w *clitest.World) { w.VCenters[0].Gate = "down" }, api.EventLine{}) // not one that is watched
	s.Change(func(w *clitest.World) { w.VCenters[1].Gate = "hung" }, api.EventLine{})
	if got := out.next(1)[0]; !strings.Contains(got, `"gate":"hung"`) {
		t.Errorf("changed: %s", got)
	}
	s.End()
	if r := <-ended; r.Code != "ended" || r.Exit != report.Failure {
		t.Errorf("ended with %+v", r)
	}
}
