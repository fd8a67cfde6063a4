package guest

import (
	"fmt"
	"net/netip"
	"strings"
)

// StaticAddresses returns the addresses that a VM's guestinfo.metadata configures for its adapters, in the order in which
// they are written there, each once. The arguments are the values of guestinfo.metadata and guestinfo.metadata.encoding
// in the VM's extraConfig, empty where there is none. It reads what cloud-init's VMware data source does: YAML or JSON,
// the encodings "base64" and "b64", "gzip+base64" and "gz+b64", anything else plain; within it network, as it stands or
// encoded as network.encoding says, in version 2 (ethernets.*.addresses) or 1 (physical devices and their subnets).
//
// Nothing configured is no error, and neither is plain text that is no metadata at all: anybody may have put it there.
// What says that it is encoded and is not, what is no YAML, and what is too large is one. A guest can write its own
// metadata, so that time and memory are bounded whatever it says.
//
// Upstream's (pkg/cloudprovider/vsphere/nodemanager.go, sortStaticallyConfiguredAddressesFirst) is
// [UpstreamStaticAddresses].
func StaticAddresses(metadata, encoding string) ([]netip.Addr, error) {
	return addressesOf(metadata, encoding, false)
}

// UpstreamStaticAddresses is [StaticAddresses] with upstream's limits: it reads nothing unless encoding is "base64", and
// in it nothing but version 2. Where upstream's order is that of a Go map, another in each call, it is the written one.
func UpstreamStaticAddresses(metadata, encoding string) ([]netip.Addr, error) {
	if encoding != encodingBase64 {
		return nil, nil
	}
	return addressesOf(metadata, encoding, true)
}

func addressesOf(metadata, encoding string, upstream bool) ([]netip.Addr, error) {
	if strings.TrimSpace(metadata) == "" {
		return nil, nil
	}
	text, err := decode(metadata, encoding)
	if err != nil {
		return nil, fmt.Errorf("guestinfo.metadata: %w", err)
	}
	root, err := parse(text)
	if err != nil && !encoded(encoding) {
		return nil, nil
	}
	r := reader{budget: maxNodes, upstream: upstream}
	if err == nil {
		err = r.metadata(root)
	}
	if err != nil {
		return nil, fmt.Errorf("guestinfo.metadata: %w", err)
	}
	return r.found, nil
}
