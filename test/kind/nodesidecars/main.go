// Command nodesidecars stands in for the two sidecars of a CSI node service whose modules the Go module proxy does not have, and takes
// their flags: under the name csi-node-driver-registrar it announces the driver to kubelet, and ends when kubelet does not take it;
// under the name livenessprobe it answers on port 9808 whether the driver does.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/csi/node/registration"
)

func main() {
	address := flag.String("csi-address", "/csi/csi.sock", "")
	kubelet := flag.String("kubelet-registration-path", "", "")
	mode := flag.String("mode", "registration", "")
	flag.Int("v", 0, "")
	flag.Parse()
	if *mode != "registration" {
		return // a probe, which finds nothing amiss
	}
	conn, err := grpc.NewClient("unix://"+*address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.WaitForReady(true)))
	if err == nil {
		defer conn.Close()
		if filepath.Base(os.Args[0]) == "livenessprobe" {
			err = answer(csi.NewIdentityClient(conn))
		} else {
			err = announce(csi.NewIdentityClient(conn), *kubelet)
		}
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// answer serves until it cannot.
func answer(driver csi.IdentityClient) error {
	http.HandleFunc("/healthz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), time.Second)
		defer cancel()
		if _, err := driver.Probe(ctx, &csi.ProbeRequest{}); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	})
	return (&http.Server{Addr: ":9808", ReadHeaderTimeout: time.Second}).ListenAndServe()
}

// announce serves until kubelet does not take the driver.
func announce(driver csi.IdentityClient, endpoint string) error {
	info, err := driver.GetPluginInfo(context.Background(), &csi.GetPluginInfoRequest{})
	if err != nil {
		return err
	}
	socket := filepath.Join("/registration", info.GetName()+"-reg.sock")
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	refused := make(chan error, 1)
	s := grpc.NewServer()
	(&registration.Announcement{Driver: info.GetName(), Endpoint: endpoint, OnStatus: func(failure string) {
		if failure != "" {
			select {
			case refused <- errors.New(failure):
			default:
			}
		}
	}}).Register(s)
	go func() { refused <- s.Serve(l) }()
	return <-refused
}
