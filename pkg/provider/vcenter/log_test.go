package vcenter_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/vcenter"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/gate"
)

// lines is a writer that is safe for concurrent reads.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// An outage is logged once when it begins and once when it ends, with any number of attempts in between, and no line contains a
// password.
func TestOutageIsLoggedOnce(t *testing.T) {
	v := start(t)
	cfg := v.config()
	var log lines
	cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
	attempts := make(chan vcenter.State, 1000)
	cfg.OnState = func(s vcenter.State) { attempts <- s }
	c, _ := run(t, cfg)
	connect(t, c)
	<-attempts
	heal := v.rule(t, gate.Rule{Action: gate.Refuse{}}) // its errors contain another port each time
	v.Gate().CutConnections()
	if err := now(c, t.Context()); err == nil {
		t.Error("no error")
	}
	for range 5 {
		<-attempts
	}
	heal()
	connect(t, c)
	eventually(t, "its end is logged", func() bool { return strings.Count(log.String(), "connected=true") == 2 })
	text := log.String()
	if warnings, all := strings.Count(text, "level=WARN"), strings.Count(text, "\n"); warnings != 1 || all > 3 {
		t.Errorf("log:\n%s", text)
	}
	if strings.Contains(text, v.Password()) {
		t.Errorf("the password is in the log:\n%s", text)
	}
}
