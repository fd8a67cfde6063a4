package gate_test

import (
	"context"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// A gate that is closed leaves no goroutine behind: not of windows, not of connections in a black hole, not of calls
// that hang.
func TestCloseLeavesNothingBehind(t *testing.T) {
	before := runtime.NumGoroutine()
	f := open(t, nil)
	f.add(t, gate.Rule{Action: gate.Outage{}, Window: gate.Window{From: time.Hour}})
	f.add(t, gate.Rule{Action: gate.Latency{Delay: time.Hour}, Match: gate.Match{Client: "nobody"}, Window: gate.Window{Until: time.Hour}})
	hang := f.add(t, gate.Rule{Action: gate.Hang{}})
	failed := make(chan error, 1)
	go func() {
		_, err := f.post(t.Context(), "/sdk")
		failed <- err
	}()
	soon(t, "a call hangs", func() bool { return f.status(t, hang).Hits == 1 })
	hole := f.add(t, gate.Rule{Action: gate.BlackHole{}})
	conn, err := net.Dial("tcp", f.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	soon(t, "a connection is swallowed", func() bool { return f.status(t, hole).Hits == 1 })
	if err := f.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err == nil {
		t.Error("the call was answered")
	}
	if _, err := f.Add(gate.Rule{Action: gate.Hang{}}); err == nil {
		t.Error("a gate that is closed takes rules")
	}
	f.client.Transport.(*http.Transport).CloseIdleConnections()
	soon(t, "all goroutines end", func() bool { return runtime.NumGoroutine() <= before })
}
