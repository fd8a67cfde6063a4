package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"go.etcd.io/etcd/etcdctl/v3/ctlv3"

	"github.com/vsphere-sandbox/vsphere-sandbox/internal/child"
	"github.com/vsphere-sandbox/vsphere-sandbox/internal/kubernetes/contract"
	"github.com/vsphere-sandbox/vsphere-sandbox/kubernetes/controlplane"
	"github.com/vsphere-sandbox/vsphere-sandbox/kubernetes/kubectl"
	"github.com/vsphere-sandbox/vsphere-sandbox/kubernetes/kubelet"
)

const usage = `The Kubernetes of a sandbox: its control plane and kubelets. vsphere-sandbox starts this program.

  vsphere-sandbox-kubernetes version -o json
  vsphere-sandbox-kubernetes control-plane --config=FILE
  vsphere-sandbox-kubernetes node --config=FILE
  vsphere-sandbox-kubernetes check --config=FILE
  vsphere-sandbox-kubernetes kubectl|etcdctl [ARGUMENT]...
`

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	command := strings.Join(args, " ")
	switch {
	case command == contract.VersionCommand:
		return json.NewEncoder(out).Encode(info())
	case len(args) > 0 && args[0] == contract.ControlPlaneCommand:
		return serve(ctx, args, contract.ReadControlPlane, controlplane.Run)
	case len(args) > 0 && args[0] == contract.CheckCommand:
		return check(ctx, args)
	case len(args) > 0 && args[0] == contract.KubectlCommand:
		return kubectl.Run(args[1:], os.Stdin, out, os.Stderr)
	case len(args) > 0 && args[0] == contract.EtcdctlCommand:
		os.Args = args
		return ctlv3.Start()
	case len(args) > 0 && args[0] == contract.NodeCommand:
		return serve(ctx, args, contract.ReadNode, kubelet.Run)
	}
	return fmt.Errorf("unknown command %q\n%s", command, usage)
}

// check prints nothing if the knobs are all right.
func check(ctx context.Context, args []string) error {
	knobs, err := configured(args, contract.ReadKnobs)
	if err != nil {
		return err
	}
	return controlplane.Check(ctx, knobs)
}

// configured reads the file of --config.
func configured[T any](args []string, read func(path string) (T, error)) (T, error) {
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	path := flags.String("config", "", "file that the sandbox wrote")
	if err := flags.Parse(args[1:]); err != nil {
		return *new(T), err
	}
	return read(*path)
}

// serve runs a command until the process is stopped, and never longer than the process that started it.
func serve[T any](ctx context.Context, args []string, read func(path string) (T, error), run func(context.Context, T) error) error {
	config, err := configured(args, read)
	if err != nil {
		return err
	}
	if err := child.Lifeline(os.Exit); err != nil { //nolint:forbidigo // this is main
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	return run(ctx, config)
}
