package provider_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/provider/config"
)

// A program that is the cloud controller manager, as cmd/vsphere-cloud-controller-manager.
func ExampleRun() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := provider.Run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// A provider for another cloud controller manager, which calls Initialize.
func ExampleNew() {
	cfg, err := config.Load("vsphere.conf", []byte(`
vcenter:
  west: {server: vc-west.example, user: ccm, password: secret}
labels: {region: k8s-region, zone: k8s-zone}
`))
	if err != nil {
		log.Fatal(err)
	}
	p, err := provider.New(cfg, provider.Options{})
	if err != nil {
		log.Fatal(err)
	}
	_, ok := p.InstancesV2()
	fmt.Println(p.ProviderName(), ok)
	// Output: vsphere true
}
