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

// StaticAddresses returns the addresses that a VM's guestinfo.metadata configures for its adapters, in their order there,
// each once. The arguments are the values of guestinfo.metadata and guestinfo.metadata.encoding in the VM's extraConfig, or
// "". It parses what cloud-init's VMware data source does: YAML or JSON; the encodings "base64" and "b64", "gzip+base64" and
// "gz+b64", and plain text otherwise; in it network, plain or encoded according to network.encoding, in version 2
// (ethernets.*.addresses) or 1 (physical devices and their subnets).
//
// Missing configuration is not an error, and neither is plain text that is not metadata, because any tool may write it.
// Invalid encoded text, invalid YAML and oversized text are errors. A guest can write its own metadata, so time and memory
// are bounded for any input.
//
// [UpstreamStaticAddresses] is upstream's version (pkg/cloudprovider/vsphere/nodemanager.go,
// sortStaticallyConfiguredAddressesFirst).
func StaticAddresses(metadata, encoding string) ([]netip.Addr, error) {
	return addressesOf(metadata, encoding, false)
}

// UpstreamStaticAddresses is [StaticAddresses] with upstream's limits: the encoding must be "base64", and the network
// version 2. Where upstream's order is that of a Go map, which differs in each call, it keeps the written order.
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
	if err != nil && !isEncoded(encoding) {
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

// The encodings of cloud-init's VMware data source. With any other, it takes the text as plain.
const (
	encodingBase64     = "base64"
	encodingB64        = "b64"
	encodingGzipBase64 = "gzip+base64"
	encodingGzB64      = "gz+b64"
)

// maxText is the maximum length of metadata in bytes at any stage of decoding. Real metadata has a few thousand; a kilobyte
// of gzip may become a megabyte.
const maxText = 256 << 10

// isEncoded reports whether encoding means that text is encoded.
func isEncoded(encoding string) bool {
	switch encoding {
	case encodingBase64, encodingB64, encodingGzipBase64, encodingGzB64:
		return true
	}
	return false
}

func decode(text, encoding string) ([]byte, error) {
	// Base64 has four characters for three bytes, plus line breaks.
	if len(text) > 2*maxText {
		return nil, fmt.Errorf("longer than %d bytes", 2*maxText)
	}
	data := []byte(text)
	if isEncoded(encoding) {
		// As cloud-init, which ignores characters outside the alphabet: some tools add spaces.
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

// unzip decompresses data, up to a little more than maxText.
func unzip(data []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(z, maxText+1))
}

// parseJSON parses valid JSON and keeps the order of its keys. The YAML parser does not accept all JSON: tabs and surrogate
// pairs differ.
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
		for d.More() { // keys are tokens, as values are
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

// maxAddresses is the maximum number of addresses in metadata.
const maxAddresses = 256

// reader collects addresses from parsed metadata.
type reader struct {
	budget   int // values that may still be visited
	upstream bool
	found    []netip.Addr
}

// metadata reads the root: network is a mapping, or text that is encoded according to network.encoding.
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
	// A complete network-config file has everything below another network key.
	if inner, err := r.get(network, "network"); err != nil {
		return err
	} else if inner != nil {
		network = inner
	}
	return r.network(network)
}

// decoded parses the text of network.
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

// network reads a network configuration of version 1 or 2.
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

// address adds one address: "10.0.0.7/24", "10.0.0.7", or netplan's mapping {"10.0.0.7/24": {label: …}}. As upstream, it
// skips other text, such as "dhcp".
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

// maxNodes is the maximum number of visited values of a document: aliases can make a short text long.
const maxNodes = 100_000

var (
	errNoMapping = errors.New("not a mapping of keys to values")
	errTooMuch   = errors.New("too many values or addresses")
)

// parse returns the mapping in text, with the order of its keys; nil if it is empty.
func parse(text []byte) (root *yaml.Node, err error) {
	// A guest wrote the text, and the parser has panicked before: that must not end a process that serves all nodes.
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

// parseYAML returns the first document in text, or nil.
func parseYAML(text []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil || len(document.Content) == 0 {
		return nil, err
	}
	return target(document.Content[0]), nil
}

func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		return n.Alias
	}
	return n
}

// get returns the value of key in a mapping, or in one that is merged into it ("<<"); nil if it is missing or null.
func (r *reader) get(mapping *yaml.Node, key string) (*yaml.Node, error) {
	mapping = target(mapping)
	if mapping.Kind != yaml.MappingNode {
		return nil, nil
	}
	var merged *yaml.Node
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if err := r.count(); err != nil {
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
		if err := r.count(); err != nil {
			return nil, err
		}
		if v, err := r.get(m, key); v != nil || err != nil {
			return v, err
		}
	}
	return nil, nil
}

// below calls f for the value of key in a mapping: for each element if it is a sequence.
func (r *reader) below(mapping *yaml.Node, key string, f func(*yaml.Node) error) error {
	value, err := r.get(mapping, key)
	if err != nil || value == nil {
		return err
	}
	return r.each(value, f)
}

// each calls f for the elements of a sequence, the values of a mapping in order, or a scalar.
func (r *reader) each(n *yaml.Node, f func(*yaml.Node) error) error {
	first, step := 0, 1
	switch n.Kind {
	case yaml.ScalarNode:
		return f(n)
	case yaml.MappingNode:
		first, step = 1, 2
	}
	for i := first; i < len(n.Content); i += step {
		if err := r.count(); err != nil {
			return err
		}
		if err := f(target(n.Content[i])); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) count() error {
	if r.budget--; r.budget < 0 {
		return errTooMuch
	}
	return nil
}

// Adapter is one network adapter that a guest reports, with its addresses in the guest's order.
type Adapter struct {
	// Network is the name of its network; empty if the adapter does not belong to the VM's hardware.
	Network string
	// Virtual reports that the adapter is not part of the VM's hardware (DeviceConfigId -1), such as one that a CNI created.
	Virtual bool
	// Addresses are the valid ones, IPv4-mapped ones unmapped and without zones, link-local ones included.
	Addresses []netip.Addr
	// Floating are those of Addresses that have a prefix of 32 bits beside an IPv4 address with a subnet. Programs such as
	// kube-vip add virtual IPs like that, and move them to another VM.
	Floating []netip.Addr
}

// Adapters converts the adapters that a guest reports.
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
		a.Floating = floating(nic.IpConfig, a.Addresses)
		adapters = append(adapters, a)
	}
	return adapters
}

// floating returns the addresses that [Adapter].Floating has.
func floating(c *types.NetIpConfigInfo, of []netip.Addr) (list []netip.Addr) {
	if c == nil || len(of) < 2 {
		return nil
	}
	subnet := false
	for _, a := range c.IpAddress {
		ip, err := netip.ParseAddr(a.IpAddress)
		switch {
		case err != nil || !ip.Unmap().Is4():
		case a.PrefixLength == 32:
			if slices.Contains(of, ip.Unmap()) {
				list = append(list, ip.Unmap())
			}
		case a.PrefixLength > 0 && Usable(ip.Unmap()):
			subnet = true
		}
	}
	if !subnet {
		return nil
	}
	return list
}

// Usable reports whether an address is reachable from outside the guest: not loopback, link-local, multicast or
// unspecified.
func Usable(ip netip.Addr) bool {
	return ip.IsValid() && !ip.IsUnspecified() && !ip.IsLoopback() && !ip.IsLinkLocalUnicast() && !ip.IsMulticast()
}
