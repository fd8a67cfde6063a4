package pane_test

import (
	"errors"
	"testing"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/tui/pane"
)

// login is a call as the sandbox describes it.
const login = `#12 09:30:15.420  vsphere-cloud-provider, session 1 → us
  → Login on SessionManager:SessionManager
      userName: administrator@us.local
      password: (masked)
      locale: en_US
  ← 200 in 760µs, 842 bytes
      returnval:
        key: (masked)
        userName: US.LOCAL\administrator
        loginTime: 2026-01-02T09:30:15.42Z

`

func TestExchangeFrames(t *testing.T) {
	p := pane.NewExchange()
	p.SetExchange(api.Exchange{Number: 12, Text: login}, nil)
	frames(t, "exchange", p)
	colored(t, "exchange", p)
}

func TestExchangeStates(t *testing.T) {
	p := pane.NewExchange()
	p.SetSize(60, 6)
	if got := seen(p); got != "Newest call\nloading…\n\n\n\n" {
		t.Errorf("%q", got)
	}
	p.SetExchange(api.Exchange{}, &api.Error{Message: "the sandbox keeps no trace of calls", Try: "vsphere-sandbox up --trace FILE"})
	if got := seen(p); got != "Newest call\n✗ the sandbox keeps no trace of calls\n\ntry: vsphere-sandbox up --trace FILE\n\n" {
		t.Errorf("%q", got)
	}
	p.SetExchange(api.Exchange{}, errors.New("gone"))
	if got := seen(p); got != "Newest call\n✗ gone\n\n\n\n" {
		t.Errorf("%q", got)
	}
	p.SetExchange(api.Exchange{Number: 1, Text: "#1 by a\x1b[31m\n  → x\x1b[2J\n"}, nil)
	if got := seen(p); got != "Newest call #1 by a\n→ x\n\n\n\n" {
		t.Errorf("%q", got)
	}
	if i, taken := press(p, "enter"); taken || i != nil {
		t.Errorf("enter is taken: %v", i)
	}
}
