package guest

import (
	"net/netip"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxAddresses is how many addresses metadata may configure.
const maxAddresses = 256

// reader collects addresses from parsed metadata.
type reader struct {
	budget   int // values that may still be looked at
	upstream bool
	found    []netip.Addr
}

// metadata reads the whole: network is a mapping, or text that network.encoding says how to decode.
func (r *reader) metadata(root *yaml.Node) error {
	if root == nil {
		return nil
	}
	network, err := r.get(root, "network")
	if err != nil || network == nil {
		return err
	}
	if network.Kind == yaml.ScalarNode {
		if network, err = r.decoded(root, network); err != nil || network == nil {
			return err
		}
	}
	// The form of a network-config file of its own, where all is below network once more.
	if inner, err := r.get(network, "network"); err != nil {
		return err
	} else if inner != nil {
		network = inner
	}
	return r.network(network)
}

// decoded returns what the text of network comes to.
func (r *reader) decoded(root, network *yaml.Node) (*yaml.Node, error) {
	encoding, err := r.get(root, "network.encoding")
	if err != nil {
		return nil, err
	}
	name := ""
	if encoding != nil {
		name = encoding.Value
	}
	text, err := decode(network.Value, name)
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// network reads a network configuration of either version.
func (r *reader) network(network *yaml.Node) error {
	ethernets, err := r.get(network, "ethernets")
	if err != nil {
		return err
	}
	if ethernets != nil {
		return r.each(ethernets, func(device *yaml.Node) error { return r.below(device, "addresses", r.address) })
	}
	if r.upstream {
		return nil
	}
	return r.below(network, "config", func(device *yaml.Node) error {
		if kind, err := r.get(device, "type"); err != nil || kind == nil || kind.Value != "physical" {
			return err
		}
		return r.below(device, "subnets", func(subnet *yaml.Node) error { return r.below(subnet, "address", r.address) })
	})
}

// address adds one: "10.0.0.7/24", "10.0.0.7", or netplan's mapping {"10.0.0.7/24": {label: …}}. Text that is none,
// "dhcp" say, is passed over as it is by upstream.
func (r *reader) address(n *yaml.Node) error {
	text := n.Value
	if n.Kind == yaml.MappingNode && len(n.Content) > 0 {
		text = n.Content[0].Value
	}
	text, _, _ = strings.Cut(text, "/")
	ip, err := netip.ParseAddr(strings.TrimSpace(text))
	if err != nil {
		return nil
	}
	ip = ip.Unmap().WithZone("")
	if slices.Contains(r.found, ip) {
		return nil
	}
	if len(r.found) == maxAddresses {
		return errTooMuch
	}
	r.found = append(r.found, ip)
	return nil
}
