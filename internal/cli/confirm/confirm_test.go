package confirm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/iostreams"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// real answers as a sandbox on real vCenters does, in words with more around the error, and takes down what it is asked.
type real struct{ asked []Consent }

func (r *real) request(c Consent) (string, error) {
	if r.asked = append(r.asked, c); !c.Confirmed {
		return "", fmt.Errorf("asked: %w", &api.Error{Code: "unconfirmed", Message: "power-off the real VM a", Try: "the same with --yes", Seed: 7})
	}
	return "done", nil
}

func TestDo(t *testing.T) {
	ask := "power-off the real VM a. Do it? [y/N] "
	for _, tc := range []struct {
		name  string
		yes   bool
		tty   bool
		typed string

		done  string
		err   error
		asked []Consent
		said  string
	}{
		{name: "yes at the terminal", tty: true, typed: "y\n", done: "done", asked: []Consent{{}, {Confirmed: true, Seed: 7}}, said: ask},
		{name: "no at the terminal", tty: true, typed: "n\n", err: ErrDeclined, asked: []Consent{{}}, said: ask + "nothing was done\n"},
		{name: "the end of the input is no", tty: true, err: ErrDeclined, asked: []Consent{{}}, said: ask + "\nnothing was done\n"},
		{name: "--yes", yes: true, tty: true, done: "done", asked: []Consent{{Confirmed: true}}},
		{name: "--yes without a terminal", yes: true, done: "done", asked: []Consent{{Confirmed: true}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			streams, in, _, stderr := iostreams.Test()
			streams.SetTTY(tc.tty, tc.tty, tc.tty)
			in.WriteString(tc.typed)
			r := &real{}
			done, err := Do(t.Context(), streams, Flags{Yes: tc.yes}, r.request)
			if done != tc.done || !errors.Is(err, tc.err) {
				t.Errorf("%q, %v", done, err)
			}
			if d := cmp.Diff(tc.asked, r.asked); d != "" {
				t.Error(d)
			}
			if stderr.String() != tc.said {
				t.Errorf("said %q, want %q", stderr, tc.said)
			}
		})
	}
}

// Without a terminal the error says what was not done, and what to type.
func TestNoTerminal(t *testing.T) {
	streams, in, _, stderr := iostreams.Test()
	in.WriteString("y\n")
	r := &real{}
	_, err := Do(t.Context(), streams, Flags{}, r.request)
	want := report.Record{
		Code: "unconfirmed", Message: "nothing was done: a confirmation is needed, and there is no terminal to ask at: power-off the real VM a", Try: "the same with --yes", Exit: report.Usage,
	}
	if d := cmp.Diff(want, report.Of(err)); d != "" || len(r.asked) != 1 || stderr.Len() > 0 {
		t.Errorf("asked %v, said %q: %s", r.asked, stderr, d)
	}
}

// What is not unconfirmed is passed on; so is an answer that does not take yes for one, and an interruption.
func TestPassedOn(t *testing.T) {
	streams, in, _, _ := iostreams.Test()
	streams.SetTTY(true, true, true)
	in.WriteString("y\ny\n")
	no := &api.Error{Code: "refused", Message: "read-only"}
	stubborn := &api.Error{Code: "unconfirmed", Message: "still not"}
	for _, want := range []error{no, stubborn} {
		n := 0
		_, err := Do(t.Context(), streams, Flags{Yes: want == stubborn}, func(Consent) (int, error) { n++; return 0, want })
		if !errors.Is(err, want) || n != 1 {
			t.Errorf("%v after %d requests, want %v", err, n, want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	blocked := *streams
	blocked.In = strings.NewReader("")
	r := &real{}
	if _, err := Do(ctx, &blocked, Flags{}, func(c Consent) (string, error) { return r.request(c) }); err == nil || len(r.asked) != 1 {
		t.Errorf("interrupted: %v, asked %v", err, r.asked)
	}
}

func TestFlag(t *testing.T) {
	var a Flags
	cmd := &cobra.Command{Use: "x", RunE: func(*cobra.Command, []string) error { return nil }}
	a.Bind(cmd)
	cmd.SetArgs([]string{"-y"})
	if err := cmd.Execute(); err != nil || !a.Yes {
		t.Errorf("%v, %+v", err, a)
	}
}
