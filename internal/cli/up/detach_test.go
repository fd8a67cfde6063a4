package up

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
)

func TestDetach(t *testing.T) {
	for _, tc := range []struct {
		role, flag string
		args       []string
		exit       int
		message    string
		said       string
	}{
		{
			role: "ready", args: []string{"single", "-d"},
			said: `--name default up single --detached --speed 10 --api-port 0 --retain=false --audit=false

It keeps running:

  vsphere-sandbox kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone
  vsphere-sandbox vm power-off worker-1
  vsphere-sandbox events -f
  vsphere-sandbox down
`,
		},
		{
			role: "ready", flag: "lab", args: []string{"single", "-d", "--speed", "1.5", "--api-port", "6443", "--retain", "--audit", "--light", "--loadbalancer", "none", "-o", "json"},
			said: `--name lab up single --detached --speed 1.5 --api-port 6443 --retain=true --audit=true --light --loadbalancer=none --output json

It keeps running:

  vsphere-sandbox --name lab kubectl get nodes -L topology.kubernetes.io/region,topology.kubernetes.io/zone
  vsphere-sandbox --name lab vm power-off worker-1
  vsphere-sandbox --name lab events -f
  vsphere-sandbox --name lab down
`,
		},
		{
			role: "fail", args: []string{"single", "-d"}, exit: 4, // and no message: the child has printed it
			said: "--name default up single --detached --speed 10 --api-port 0 --retain=false --audit=false\n",
		},
		{
			role: "quit", args: []string{"single", "-d"}, exit: 1, message: `sandbox "default": ended before it was ready`,
			said: "--name default up single --detached --speed 10 --api-port 0 --retain=false --audit=false\n",
		},
		{
			role: "fail", args: []string{"single", "-d", "--csi", "off"}, exit: 4,
			said: "--name default up single --detached --speed 10 --api-port 0 --retain=false --audit=false --csi=off\n",
		},
		{
			role: "fail", flag: "set", args: []string{"own.yaml", "-d", "--set", "esx=a b", "--set=esx=c"}, exit: 4,
			said: "--name set up own.yaml --detached --speed 10 --api-port 0 --retain=false --audit=false --set=esx=a b --set=esx=c\n",
		},
	} {
		t.Run(tc.role+tc.flag, func(t *testing.T) {
			t.Setenv(roleEnv, tc.role)
			t.Chdir(t.TempDir())
			own := strings.Replace(tiny, "esx-1", `"${esx}"`, 1) + "parameters: [{name: esx}]\n"
			if err := os.WriteFile("own.yaml", []byte(own), 0o600); err != nil {
				t.Fatal(err)
			}
			e := clitest.NewEnv(nil)
			e.Self, e.NameFlag = os.Args[0], tc.flag
			out, said := pipes(t, e)
			r := e.Run(t.Context(), NewCmdUp(e.Deps, nil), tc.args...)
			if r.Exit != tc.exit || r.Message != tc.message {
				t.Errorf("ended with %+v", r)
			}
			// The end of the streams shows that the child has let go of them.
			if diff := cmp.Diff(tc.said, said()); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
			if got := out(); got != "" {
				t.Errorf("result %q", got)
			}
		})
	}
}

func TestDetachIsInterrupted(t *testing.T) {
	t.Setenv(roleEnv, "slow")
	e := clitest.NewEnv(nil)
	e.Self = os.Args[0]
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	e.Streams.Out = w
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read := make(chan string, 1)
	go func() {
		b := make([]byte, len("booting\n"))
		_, _ = io.ReadFull(r, b)
		cancel()
		rest, _ := io.ReadAll(r)
		read <- string(b) + string(rest)
	}()
	rec := e.Run(ctx, NewCmdUp(e.Deps, nil), "single", "--detach")
	w.Close()
	if got := <-read; got != "booting\nterminated\n" {
		t.Errorf("the child said %q", got)
	}
	if rec.Exit != report.Interrupted {
		t.Errorf("ended with %+v", rec)
	}
}

func TestDetachWithoutAProgram(t *testing.T) {
	e := clitest.NewEnv(nil)
	e.Self = t.TempDir() + "/gone"
	r := e.Run(t.Context(), NewCmdUp(e.Deps, nil), "single", "--detach")
	if r.Exit != report.Failure || !strings.Contains(r.Message, "gone") {
		t.Errorf("ended with %+v", r)
	}
}

// pipes replaces the streams of e by pipes, for a child that writes to them itself. The functions return all output once
// all writers are closed.
func pipes(t *testing.T, e *clitest.Env) (out, said func() string) {
	t.Helper()
	one := func(stream *io.Writer) func() string {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		*stream = w
		t.Cleanup(func() { r.Close(); w.Close() })
		return func() string {
			w.Close()
			b, err := io.ReadAll(r)
			if err != nil && !errors.Is(err, os.ErrClosed) {
				t.Error(err)
			}
			return string(b)
		}
	}
	return one(&e.Streams.Out), one(&e.Streams.Err)
}
