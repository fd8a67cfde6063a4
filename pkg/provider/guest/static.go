package guest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
	"go.yaml.in/yaml/v3"
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

// The encodings of cloud-init's VMware data source; whatever else an encoding says, it takes the text as it stands.
const (
	encodingBase64     = "base64"
	encodingB64        = "b64"
	encodingGzipBase64 = "gzip+base64"
	encodingGzB64      = "gz+b64"
)

// maxText is how long, in bytes, metadata may be at any stage of decoding. Real ones have a few thousand; a kilobyte of
// gzip may become a megabyte.
const maxText = 256 << 10

// encoded tells whether encoding says that text is not as it stands.
func encoded(encoding string) bool {
	switch encoding {
	case encodingBase64, encodingB64, encodingGzipBase64, encodingGzB64:
		return true
	}
	return false
}

// decode undoes encoding.
func decode(text, encoding string) ([]byte, error) {
	// Base64 has four characters for three bytes, and line ends.
	if len(text) > 2*maxText {
		return nil, fmt.Errorf("longer than %d bytes", 2*maxText)
	}
	data := []byte(text)
	if encoded(encoding) {
		// As cloud-init, which skips what is not of the alphabet: spaces around it come with some tools.
		b, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
		if err != nil {
			return nil, fmt.Errorf("encoding %q: %w", encoding, err)
		}
		data = b
	}
	if encoding == encodingGzipBase64 || encoding == encodingGzB64 {
		b, err := unzip(data)
		if err != nil {
			return nil, fmt.Errorf("encoding %q: %w", encoding, err)
		}
		data = b
	}
	if len(data) > maxText {
		return nil, fmt.Errorf("decoded, longer than %d bytes", maxText)
	}
	return data, nil
}

// unzip returns what data is compressed of, or a little more than maxText of it.
func unzip(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxText+1))
}

// parseJSON returns what valid JSON says, with the order of its keys. It is nearly YAML, but for tabs and for characters
// that are escaped in pairs.
func parseJSON(text []byte) (*yaml.Node, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return jsonValue(d)
}

func jsonValue(d *json.Decoder) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case nil:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null"}, nil
	case json.Delim:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		if t == '{' {
			n.Kind = yaml.MappingNode
		}
		for d.More() { // the keys of an object are tokens like its values
			v, err := jsonValue(d)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, v)
		}
		_, err := d.Token()
		return n, err
	default:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(t)}, nil
	}
}

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

// maxNodes is how many values of a document are looked at: aliases make long ones of short texts.
const maxNodes = 100_000

var (
	errNoMapping = errors.New("no mapping of keys to values")
	errTooMuch   = errors.New("more than anybody configures")
)

// parse returns the mapping that text consists of, with the order of its keys; nil when it is empty.
func parse(text []byte) (root *yaml.Node, err error) {
	// A guest wrote it, and the parser has had its panics: none may end a process that serves all other nodes.
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, fmt.Errorf("yaml: %v", p)
		}
	}()
	if json.Valid(text) {
		root, err = parseJSON(text)
	} else {
		root, err = parseYAML(text)
	}
	switch {
	case err != nil || root == nil || root.Tag == "!!null":
		return nil, err
	case root.Kind != yaml.MappingNode:
		return nil, errNoMapping
	}
	return root, nil
}

// parseYAML returns what the first document in text says; nil when there is none.
func parseYAML(text []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil || len(document.Content) == 0 {
		return nil, err
	}
	return target(document.Content[0]), nil
}

// target follows an alias.
func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// get returns the value of key in a mapping, or in one that is merged into it ("<<"); nil when there is none, or null.
func (r *reader) get(mapping *yaml.Node, key string) (*yaml.Node, error) {
	mapping = target(mapping)
	if mapping.Kind != yaml.MappingNode {
		return nil, nil
	}
	var merged *yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if err := r.spend(); err != nil {
			return nil, err
		}
		switch k := target(mapping.Content[i]); {
		case k.Kind == yaml.ScalarNode && k.Value == key:
			if v := target(mapping.Content[i+1]); v.Tag != "!!null" {
				return v, nil
			}
			return nil, nil
		case k.Tag == "!!merge":
			merged = target(mapping.Content[i+1])
		}
	}
	if merged == nil {
		return nil, nil
	}
	if merged.Kind != yaml.SequenceNode {
		return r.get(merged, key)
	}
	for _, m := range merged.Content {
		if err := r.spend(); err != nil {
			return nil, err
		}
		if v, err := r.get(m, key); v != nil || err != nil {
			return v, err
		}
	}
	return nil, nil
}

// below calls f for the value of key in a mapping: for each of its elements when it is a sequence.
func (r *reader) below(mapping *yaml.Node, key string, f func(*yaml.Node) error) error {
	value, err := r.get(mapping, key)
	if err != nil || value == nil {
		return err
	}
	return r.each(value, f)
}

// each calls f for the elements of a sequence, the values of a mapping in their order, or a scalar itself.
func (r *reader) each(n *yaml.Node, f func(*yaml.Node) error) error {
	first, step := 0, 1
	switch n.Kind {
	case yaml.ScalarNode:
		return f(n)
	case yaml.MappingNode:
		first, step = 1, 2
	}
	for i := first; i < len(n.Content); i += step {
		if err := r.spend(); err != nil {
			return err
		}
		if err := f(target(n.Content[i])); err != nil {
			return err
		}
	}
	return nil
}

// spend takes one from the budget.
func (r *reader) spend() error {
	if r.budget--; r.budget < 0 {
		return errTooMuch
	}
	return nil
}

// Adapter is one network adapter that a guest reports, with its addresses in the guest's order.
type Adapter struct {
	// Network is the name of the network it is on, empty when the guest's adapter is none of the VM's.
	Network string
	// Virtual says that the adapter is none of the VM's hardware (DeviceConfigId -1): what a CNI makes inside the guest.
	Virtual bool
	// Addresses are those that parse, IPv4-mapped ones unmapped and without zones; local ones are among them.
	Addresses []netip.Addr
}

// Adapters reads what a guest reports.
func Adapters(nics []types.GuestNicInfo) []Adapter {
	if len(nics) == 0 {
		return nil
	}
	adapters := make([]Adapter, 0, len(nics))
	for _, nic := range nics {
		a := Adapter{Network: nic.Network, Virtual: nic.DeviceConfigId == -1}
		for _, text := range nic.IpAddress {
			if ip, err := netip.ParseAddr(text); err == nil {
				a.Addresses = append(a.Addresses, ip.Unmap().WithZone(""))
			}
		}
		adapters = append(adapters, a)
	}
	return adapters
}

// Usable tells whether an address means anything outside the guest: it is no loopback, link-local, multicast or
// unspecified one.
func Usable(ip netip.Addr) bool {
	return ip.IsValid() && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && !ip.IsMulticast()
}
