package vcenter

import (
	"context"
	"io"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/clitest"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/cli/report"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/cluster/kind/runtime"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api"
)

// docker has the network of the kind cluster "dev", in which this machine is 127.0.0.4.
type docker struct{}

func (docker) Run(_ context.Context, c runtime.Call) error {
	for begin, text := range map[string]string{
		"info": "Debian\n", "network ls --filter name=^kind$": "kind\n", "ps --all --filter label=io.x-k8s.kind.cluster=dev": "dev-control-plane\n",
		`ps --all --filter label=io.x-k8s.kind.cluster --format {{.Label "io.x-k8s.kind.cluster"}}`: "dev\nlab\ndev\n", "network ls --format {{.Name}}": "bridge\nkind\nlab\n",
		"network inspect kind": `[{"IPAM":{"Config":[{"Subnet":"127.0.0.0/16","Gateway":"127.0.0.4"}]}}]`,
	} {
		if strings.HasPrefix(strings.Join(c.Args, " "), begin) && c.Stdout != nil {
			_, _ = io.WriteString(c.Stdout, text)
		}
	}
	return nil
}

func TestReach(t *testing.T) {
	t.Setenv("KIND_EXPERIMENTAL_DOCKER_NETWORK", "")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	detect := func(context.Context) (*runtime.Runtime, error) { return runtime.With("docker", docker{}), nil }
	for _, r := range []*reach{{kind: "dev", detect: detect}, {network: "kind", detect: detect}} {
		names, err := r.find(t.Context())
		if err != nil || !slices.Equal(names, []string{"127.0.0.4"}) {
			t.Fatalf("%q, %v", names, err)
		}
		access := []api.Access{{VCenter: "us", URL: "https://" + l.Addr().String() + "/sdk"}, {VCenter: "eu", URL: "https://" + l.Addr().String() + "/sdk"}}
		_, port, _ := net.SplitHostPort(l.Addr().String())
		if err := r.open(t.Context(), access, []string{l.Addr().String(), "127.0.0.1:0"}); err != nil {
			t.Fatal(err)
		}
		us, err := url.Parse(r.containerURL("us"))
		if err != nil || us.String() != "https://127.0.0.4:"+port+"/sdk" || !strings.HasPrefix(r.containerURL("eu"), "https://127.0.0.4:") || r.containerURL("asia") != "" {
			t.Errorf("%s, %s, %v", us, r.containerURL("eu"), err)
		}
		conn, err := net.Dial("tcp", us.Host)
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		r.close()
		if _, err := net.Dial("tcp", us.Host); err == nil {
			t.Error("the relay still listens")
		}
	}
	for says, r := range map[string]*reach{
		`no kind cluster "prod"`:     {kind: "prod", detect: detect},
		"network lab does not exist": {network: "lab", detect: detect},
	} {
		if _, err := r.find(t.Context()); err == nil || !strings.Contains(report.Of(err).Message, says) || report.Of(err).Exit != report.Prerequisite {
			t.Errorf("%+v", report.Of(err))
		}
	}
	if names, err := new(reach).find(t.Context()); names != nil || err != nil {
		t.Errorf("without a flag: %q, %v", names, err)
	}
}

// The names of kind clusters and of networks are completed.
func TestReachCompletion(t *testing.T) {
	r := &reach{detect: func(context.Context) (*runtime.Runtime, error) { return runtime.With("docker", docker{}), nil }}
	cmd := &cobra.Command{Use: "up"}
	cmd.SetContext(t.Context())
	r.bind(cmd)
	for flag, want := range map[string][]string{"in-kind": {"dev", "lab"}, "in-docker-network": {"bridge", "kind", "lab"}} {
		f, ok := cmd.GetFlagCompletionFunc(flag)
		if !ok {
			t.Errorf("--%s completes nothing", flag)
			continue
		}
		if got, _ := f(cmd, nil, ""); !slices.Equal(got, want) {
			t.Errorf("--%s completes %q, want %q", flag, got, want)
		}
		if got, _ := f(cmd, nil, "l"); !slices.Equal(got, []string{"lab"}) {
			t.Errorf("--%s l completes %q", flag, got)
		}
	}
}

func TestReachFlags(t *testing.T) {
	for args, refused := range map[string]string{
		"--vm 1 --in-kind dev":                                "",
		"-vm 1 -in-docker-network lab":                        "",
		"--vm 1 --in-kind dev --in-docker-network lab":        "exclude each other",
		"--vm 1 --in-kind dev --tls=false":                    "with TLS and logins",
		"--vm 1 --in-kind dev --username me --password short": "a password of 5 characters",
		"--in-kind dev us":                                    "for vCenters alone",
	} {
		e := clitest.NewEnv(nil)
		cmd := NewCmdUp(e.Deps, func(context.Context, *upOptions) error { return nil })
		if r := e.Run(t.Context(), cmd, Args(append([]string{"vcenter", "up"}, strings.Fields(args)...))[2:]...); (r.Exit != 0) != (refused != "") || !strings.Contains(r.Message, refused) {
			t.Errorf("%s: ended with %+v", args, r)
		}
	}
}
