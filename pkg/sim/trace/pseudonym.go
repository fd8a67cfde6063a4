package trace

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sim/wsdl"
)

// Pseudonyms choose what stands for a name: the same for equal names. A new pseudonym of a name begins with kind. Known and
// KnownAddress return the pseudonym of what has one already. Package record has them.
type Pseudonyms interface {
	Name(kind, name string) string
	Known(name string) (string, bool)
	UUID(id string) string
	VLAN(id int32) (int32, error)
	Address(prefix netip.Prefix) (netip.Prefix, error)
	KnownAddress(address netip.Addr) (netip.Addr, bool)
}

// Pseudonymizer replaces what identifies the owner of a trace: names, UUIDs, addresses, users, notes. All that is no word of the
// vSphere API, number, time or reference gets a pseudonym, so that nothing must be known to be replaced. Structure and
// references stay: [Replay] compares as before. Create one with [NewPseudonymizer]; it is not safe for concurrent use.
type Pseudonymizer struct {
	names Pseudonyms
	words map[string]bool
	paths map[string]bool // words in paths of the Automation API
	err   error
}

// NewPseudonymizer returns one that uses these pseudonyms.
func NewPseudonymizer(names Pseudonyms) *Pseudonymizer {
	p := &Pseudonymizer{names: names, words: wsdl.Words(), paths: map[string]bool{}}
	for word := range strings.FieldsSeq(otherWords + " " + strings.Trim(masked, "()")) {
		p.words[word] = true
	}
	for word := range strings.FieldsSeq(pathWords) {
		p.paths[word] = true
	}
	return p
}

const (
	// otherWords are those of the API that its schema does not have: of the Automation API, of CNS and PBM, of identifiers, paths and URLs.
	otherWords = `SINGLE MULTIPLE POWERED_ON POWERED_OFF SUSPENDED CONNECTED DISCONNECTED BLOCK FILE KUBERNETES VANILLA WORKLOAD
		PERSISTENT_VOLUME PERSISTENT_VOLUME_CLAIM POD REQUIREMENT RESOURCE STORAGE
		xsd string urn vim25 session id uuid vmomi InventoryServiceCategory InventoryServiceTag GLOBAL
		https http sdk ds vmfs volumes folder vm host network datastore vmx vmdk nvram vmsd log iso ova ovf vsphere local`
	pathWords = `api rest com vmware cis session tagging category tag tag-association vcenter vm folder host cluster network datastore
		datacenter resource-pool power guest identity networking interfaces tools hardware boot cpu memory disk cdrom ethernet storage
		policies compliance content library local-library subscribed-library item file download-session update-session updatesession
		library-item library-items deploy vm-template ovf vmtx check-outs appliance system version health namespaces
		namespace-management clusters instances supervisors data-sets entries esx settings drafts software modules vapi metadata about
		authentication token deployment hvc trusted-infrastructure crypto-manager kms providers sdk pbm vslm vsanHealth vsan eam sms
		sts STSService sso-adminserver lookupservice ssoadmin vimService vimServiceVersions.xml vsphere.local folder nfc cgi-bin guestFile {id}`
)

// Call replaces what a call has. After an error it must not be kept.
func (p *Pseudonymizer) Call(c *Call) error {
	c.VCenter = p.names.Name("vcenter", c.VCenter)
	c.User = p.text(c.User)
	c.Client = product(c.Client)
	c.Object.Value = p.reference(c.Object.Value)
	c.Fault = p.text(c.Fault)
	for i := range c.Rules {
		c.Rules[i] = p.text(c.Rules[i])
	}
	if verb, path, rest := strings.Cut(c.Method, " "); rest {
		c.Method = verb + " " + p.uri(path, false)
	}
	c.URI = p.uri(c.URI, c.Transport == "http")
	p.message(&c.Request)
	p.message(&c.Answer)
	return p.err
}

// product is the first product of a User-Agent; comments after it may have names of hosts.
func product(agent string) string {
	name := shortClient(agent)
	if !agentProduct.MatchString(name) {
		return ""
	}
	return name
}

// message keeps of a header what says nothing about anyone, and replaces the body. Without its end, or if it is neither XML nor
// JSON, a body cannot be read: it is left out as one that was cut.
func (p *Pseudonymizer) message(m *Message) {
	header := map[string]string{}
	for key, value := range m.Header {
		switch key {
		case "Content-Type", "Soapaction", "Accept":
			header[key] = value
		case "User-Agent":
			header[key] = product(value)
		}
	}
	m.Header = header
	if m.Body == "" {
		return
	}
	var err error
	switch {
	case m.Cut:
		m.Body = ""
	case strings.HasPrefix(strings.TrimSpace(m.Body), "<"):
		m.Body, err = p.xml(m.Body)
	default:
		m.Body, err = p.json(m.Body)
	}
	if err != nil {
		m.Body, m.Cut = "", true
	}
}

// xml replaces the texts of elements. Of attributes it keeps types and namespaces.
func (p *Pseudonymizer) xml(body string) (string, error) {
	type element struct {
		name      string
		reference bool
	}
	var out, text bytes.Buffer
	stack := []element{{}}
	flush := func() {
		if plain := text.String(); strings.TrimSpace(plain) != "" {
			_ = xml.EscapeText(&out, []byte(p.value(stack[len(stack)-1].name, plain, stack[len(stack)-1].reference))) // of a buffer
		}
		text.Reset()
	}
	qualified := func(n xml.Name) string {
		if n.Space == "" {
			return n.Local
		}
		return n.Space + ":" + n.Local
	}
	d := xml.NewDecoder(strings.NewReader(body))
	for {
		token, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case xml.CharData:
			text.Write(token)
		case xml.StartElement:
			flush()
			one := element{name: token.Name.Local}
			out.WriteString("<" + qualified(token.Name))
			for _, a := range token.Attr {
				if a.Name.Local != "type" && a.Name.Local != "xmlns" && a.Name.Space != "xmlns" {
					continue
				}
				one.reference = one.reference || a.Name.Local == "type" && a.Name.Space == ""
				out.WriteString(" " + qualified(a.Name) + `="`)
				_ = xml.EscapeText(&out, []byte(a.Value)) // of a buffer
				out.WriteByte('"')
			}
			out.WriteByte('>')
			stack = append(stack, one)
		case xml.EndElement:
			flush()
			if len(stack) == 1 {
				return "", errors.New("an element ends that did not begin")
			}
			stack = stack[:len(stack)-1]
			out.WriteString("</" + qualified(token.Name) + ">")
		}
	}
	if len(stack) > 1 {
		return "", io.ErrUnexpectedEOF
	}
	return out.String(), nil
}

// json replaces strings, and keys that are no names of fields.
func (p *Pseudonymizer) json(body string) (string, error) {
	d := json.NewDecoder(strings.NewReader(body))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	text, err := json.Marshal(p.document("", v))
	return string(text), err
}

func (p *Pseudonymizer) document(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			name := k
			if !field.MatchString(k) {
				name = p.text(k)
			}
			out[name] = p.document(k, e)
		}
		return out
	case []any:
		for i, e := range v {
			v[i] = p.document(key, e)
		}
	case string:
		if key == "error_type" && constant.MatchString(v) {
			return v
		}
		return p.value(key, v, false)
	case json.Number:
		return json.Number(p.value(key, v.String(), false))
	}
	return v
}

// value replaces the value of an element or field.
func (p *Pseudonymizer) value(name, text string, reference bool) string {
	switch {
	case reference:
		return p.reference(text)
	case strings.EqualFold(name, "vlanId") || name == "vlan_id" || name == "vlan":
		if id, err := strconv.ParseInt(text, 10, 32); err == nil {
			stands, err := p.names.VLAN(int32(id))
			p.err = errors.Join(p.err, err)
			return strconv.Itoa(int(stands))
		}
	case strings.HasSuffix(strings.ToLower(name), "version") && version.MatchString(text):
		return text // not an address
	}
	return p.text(text)
}

// reference replaces the ID of an object, unless it is a number with the type or the name of a manager.
func (p *Pseudonymizer) reference(text string) string {
	if moref.MatchString(text) {
		return text
	}
	return p.text(text)
}

// uri replaces names in a path: in one of the API what is no word of it, in one of a file everything.
func (p *Pseudonymizer) uri(uri string, file bool) string {
	path, query, has := strings.Cut(uri, "?")
	parts := strings.Split(path, "/")
	for i, part := range parts {
		plain, err := url.PathUnescape(part)
		if err != nil {
			plain = part
		}
		if known := p.paths[plain] || strings.HasPrefix(plain, "vSphere") || strings.HasPrefix(plain, "v") && number.MatchString(plain[1:]); !known || file && i > 1 {
			parts[i] = strings.ReplaceAll(url.PathEscape(p.text(plain)), "%3A", ":")
		}
	}
	path = strings.Join(parts, "/")
	if !has {
		return path
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return path
	}
	for key, list := range values {
		if key != "~action" && key != "action" {
			for i := range list {
				list[i] = p.text(list[i])
			}
		}
	}
	return path + "?" + values.Encode()
}

const (
	uuidForm  = `[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`
	colons    = `[0-9a-fA-F]{0,4}(?::[0-9a-fA-F]{0,4}){2,7}` // an IPv6 or MAC address, or else words
	wordForm  = `[^\s/\\\[\]():;,="'<>@&|]+`
	morefForm = `(?:vm|host|domain-[cs]|group-[a-z]|resgroup(?:-v)?|datastore|network|dvportgroup|dvs|datacenter|task|snapshot)-v?\d+`
)

var (
	agentProduct  = regexp.MustCompile(`^[\w.+-]+(?:/[\w.+-]+)?$`)
	datastorePath = regexp.MustCompile(`(?s)^\[([^\]]*)\](\s*)(.*)$`)
	serial        = regexp.MustCompile(`^VMware-[0-9a-fA-F]{2}(?:[ -][0-9a-fA-F]{2}){15}$`)
	isUUID        = regexp.MustCompile(`^` + uuidForm + `$`)
	isMAC         = regexp.MustCompile(`^(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}$`)
	parts         = regexp.MustCompile(uuidForm + `|` + colons + `|` + wordForm)
	word          = regexp.MustCompile(wordForm)
	inText        = regexp.MustCompile(`^` + morefForm + `$`)
	moref         = regexp.MustCompile(`^(?:[A-Za-z]+(?:-[a-z])?-?v?\d+|[A-Za-z]+)$`)
	number        = regexp.MustCompile(`^[-+]?\d+(?:\.\d+)?$`)
	version       = regexp.MustCompile(`^\d+(?:\.\d+)*$`)
	field         = regexp.MustCompile(`^(?:[a-z_][a-z0-9_]*|[a-z][A-Za-z0-9]*|\d+|SECRET)$`)
	constant      = regexp.MustCompile(`^[A-Z_]+$`)
)

// text replaces every part of a text that is not known to say nothing.
func (p *Pseudonymizer) text(text string) string {
	if text == "" || p.says(text) {
		return text
	}
	if _, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return text
	}
	if serial.MatchString(text) {
		id, _ := hex.DecodeString(strings.NewReplacer("VMware-", "", " ", "", "-", "").Replace(text)) // of the form
		stands := strings.ReplaceAll(p.names.UUID(fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])), "-", "")
		if id, err := hex.DecodeString(stands); err == nil && len(id) == 16 {
			return fmt.Sprintf("VMware-% x-% x", id[:8], id[8:])
		}
		return "VMware-" + stands
	}
	if stands, ok := p.named(text); ok {
		return stands
	}
	if stands, ok := p.address(text); ok {
		return stands
	}
	if g := datastorePath.FindStringSubmatch(text); g != nil {
		return "[" + p.text(g[1]) + "]" + g[2] + p.text(g[3])
	}
	if list := strings.Split(text, "/"); len(list) > 1 {
		for i := range list {
			list[i] = p.text(list[i])
		}
		return strings.Join(list, "/")
	}
	return parts.ReplaceAllStringFunc(text, p.part)
}

// named returns the pseudonym of a name that has one. Paths of a vCenter have special characters escaped.
func (p *Pseudonymizer) named(name string) (string, bool) {
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return p.names.Known(name)
}

// says reports whether a word says nothing about anyone.
func (p *Pseudonymizer) says(word string) bool {
	if number.MatchString(word) || inText.MatchString(word) || word == "true" || word == "false" {
		return true
	}
	for part := range strings.SplitSeq(word, ".") { // a property's path
		if !p.words[part] {
			return false
		}
	}
	return true
}

// address replaces an address, with or without a prefix length.
func (p *Pseudonymizer) address(text string) (string, bool) {
	prefix, err := netip.ParsePrefix(text)
	bare := err != nil
	if bare {
		a, err := netip.ParseAddr(text)
		if err != nil {
			return "", false
		}
		if a.IsUnspecified() || a.IsLoopback() {
			return text, true
		}
		if stands, ok := p.names.KnownAddress(a); ok {
			return stands.String(), true
		}
		bits := 24
		if a = a.WithZone(""); a.Is6() {
			bits = 64
		}
		prefix = netip.PrefixFrom(a, bits)
	}
	stands, err := p.names.Address(prefix)
	p.err = errors.Join(p.err, err)
	if bare {
		return stands.Addr().String(), true
	}
	return stands.String(), true
}

// part replaces a word, a UUID or an address in a text.
func (p *Pseudonymizer) part(text string) string {
	if isUUID.MatchString(text) {
		return p.names.UUID(text)
	}
	if isMAC.MatchString(text) {
		n := strings.ReplaceAll(p.names.UUID("mac "+strings.ToLower(text)), "-", "")
		n = n[len(n)-6:]
		return "00:50:56:" + n[:2] + ":" + n[2:4] + ":" + n[4:]
	}
	if strings.Contains(text, ":") {
		if stands, ok := p.address(text); ok {
			return stands
		}
		return word.ReplaceAllStringFunc(text, p.word)
	}
	return p.word(text)
}

func (p *Pseudonymizer) word(text string) string {
	if p.says(text) {
		return text
	}
	if stands, ok := p.named(text); ok {
		return stands
	}
	if stands, ok := p.address(text); ok {
		return stands
	}
	labels := strings.Split(text, ".") // as a DNS name has them
	for i, label := range labels {
		if !number.MatchString(label) && (len(labels) == 1 || !slices.Contains([]string{"vmx", "vmdk", "nvram", "vmsd", "log", "iso", "ova", "ovf"}, label)) {
			labels[i] = p.names.Name("name", label)
		}
	}
	return strings.Join(labels, ".")
}
