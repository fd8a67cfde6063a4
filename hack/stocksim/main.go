// Command stocksim stands in for a vCenter that is not ours: govmomi's simulator as it is, served with TLS by an authority
// of its own, with one user whose password is checked. What is set in its inventory is set over its own API, as an
// administrator would do: tags that make zones, the names and addresses that guests report, settings of VMs.
//
//	go run ./hack/stocksim -address 127.0.0.7:0 -clusters 2 -vms 3 -version 8.0.3 -nodes west -zones west -disk-uuid
//
// Once it is ready it prints one line of JSON on standard output: where it is, whom to be there, and the files that say so
// to others. It ends with TERM, with Ctrl-C, and when its standard input does, which is when its parent dies, and leaves
// nothing behind. Several vCenters are several processes.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/stocksim"
)

// settings are what the flags say.
type settings struct {
	stocksim.Options
	authority string // file for the authority's certificate
	furnishing
}

func main() {
	s := settings{Options: stocksim.Options{User: "administrator@vsphere.local", Password: os.Getenv("STOCKSIM_PASSWORD")}}
	flag.StringVar(&s.Address, "address", "127.0.0.1:0", "`HOST:PORT` to listen on; port 0 is a free one")
	flag.StringVar(&s.User, "user", s.User, "`NAME` of the one who may log in; the password is $STOCKSIM_PASSWORD, or a new one")
	flag.IntVar(&s.Clusters, "clusters", 1, "compute clusters")
	flag.IntVar(&s.Hosts, "hosts", 1, "hosts in each cluster")
	flag.IntVar(&s.VMs, "vms", 2, "VMs in each cluster")
	flag.StringVar(&s.Version, "version", "", "release that it says it is, such as 8.0.3 (default: vcsim's own, 6.5.0)")
	flag.StringVar(&s.authority, "ca", "", "`FILE` to write the authority's certificate to (default: a temporary one)")
	flag.StringVar(&s.nodes, "nodes", "", "have the guests report names that begin with this `PREFIX`, addresses and running tools, and give the VMs UUIDs that no other vCenter has")
	flag.StringVar(&s.region, "zones", "", "tag the datacenter as this `REGION`, and each cluster as a zone of it")
	flag.BoolVar(&s.diskUUID, "disk-uuid", false, "set disk.enableUUID")
	flag.StringVar(&s.hardware, "hardware", "", "upgrade the VMs to this hardware `VERSION`, such as vmx-19")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // it only matters that it ends
		cancel()
	}()
	if err := run(ctx, s, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "stocksim:", err)
		os.Exit(1)
	}
}

// ready is what is printed.
type ready struct {
	// Address is host:port.
	Address  string `json:"address"`
	User     string `json:"user"`
	Password string `json:"password"`
	// CA is the file of the authority's certificate.
	CA string `json:"ca"`
}

// run serves until ctx ends.
func run(ctx context.Context, s settings, w io.Writer) error {
	t, err := newTrust(s.Address, s.authority)
	if err != nil {
		return err
	}
	defer t.remove()
	s.Certificate = &t.certificate
	if s.Password == "" {
		s.Password = password()
	}
	server, err := stocksim.Serve(s.Options)
	if err != nil {
		return err
	}
	defer server.Remove()
	if err := s.furnish(ctx, server.URL(), t.pool); err != nil {
		return err
	}
	err = json.NewEncoder(w).Encode(ready{Address: server.URL().Host, User: s.User, Password: s.Password, CA: t.file})
	if err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}
