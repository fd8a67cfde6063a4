package report

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

func TestOf(t *testing.T) {
	for _, tc := range []struct {
		name string
		err  error
		want Record
	}{
		{name: "nothing"},
		{
			name: "an unknown error", err: errors.New("disk full"),
			want: Record{Code: "failed", Message: "disk full", Exit: 1},
		},
		{
			name: "usage", err: fmt.Errorf("x: %w", UsageError("say please", "no verb %q", "fly")),
			want: Record{Code: "usage", Message: `no verb "fly"`, Try: "say please", Exit: 2},
		},
		{
			name: "an error with defaults", err: &Error{Message: "port taken", Err: errors.New("in use")},
			want: Record{Code: "failed", Message: "port taken", Why: "in use", Exit: 1},
		},
		{
			name: "the sandbox's answer", err: fmt.Errorf("vm: %w", &api.Error{Code: "not-found", Message: "no such VM", Try: "get vms"}),
			want: Record{Code: "not-found", Message: "vm: no such VM", Try: "get vms", Exit: 1},
		},
		{
			name: "the sandbox was asked for nonsense", err: &api.Error{Code: "invalid", Message: "no such action"},
			want: Record{Code: "invalid", Message: "no such action", Exit: 2},
		},
		{
			name: "a fault without a target", err: &api.Error{Code: "ambiguous", Message: "vm.power-off: 6 VMs match", Try: "name one"},
			want: Record{Code: "ambiguous", Message: "vm.power-off: 6 VMs match", Try: "name one", Exit: 2},
		},
		{
			name: "Ctrl-C", err: fmt.Errorf("reading: %w", context.Canceled),
			want: Record{Code: "interrupted", Message: "interrupted", Exit: 130},
		},
		{name: "told already", err: fmt.Errorf("kubectl: %w", Exit(7)), want: Record{Exit: 7}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if d := cmp.Diff(tc.want, Of(tc.err)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWrite(t *testing.T) {
	r := Record{Code: "not-found", Message: "no VM", Why: "two < three", Try: "one\nother", Exit: 1}
	for _, tc := range []struct {
		name, format, want string
		record             Record
	}{
		{"text", "", "error: no VM: two < three\ntry: one\ntry: other\n", r},
		{"wide is text", "wide", "error: no VM\n", Record{Message: "no VM", Exit: 1}},
		{"json", "json", `{
  "error": {
    "code": "not-found",
    "message": "no VM",
    "why": "two < three",
    "try": "one\nother",
    "exit": 1
  }
}
`, r},
		{"yaml", "yaml", "error:\n  code: usage\n  exit: 2\n  message: no VM\n", Record{Code: "usage", Message: "no VM", Exit: 2}},
		{"interruption is not told", "", "", Record{Message: "interrupted", Exit: Interrupted}},
		{"told already", "json", "", Record{Exit: 3}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Write(&b, tc.format, tc.record); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, b.String()); d != "" {
				t.Error(d)
			}
		})
	}
}
