package gate

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	// These register their faults beside vim25's.
	_ "github.com/vmware/govmomi/cns/types"
	_ "github.com/vmware/govmomi/pbm/types"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
	_ "github.com/vmware/govmomi/vslm/types"
)

// errNoFault is returned for a name that is not a fault.
var errNoFault = errors.New("not a fault of the vSphere API")

// faultName returns the registered name of a fault type: those of PBM and others have a prefix for their namespace.
func faultName(name string) (string, reflect.Type, bool) {
	base := reflect.TypeFor[types.BaseMethodFault]()
	for _, full := range []string{name, "pbm:" + name, "vslm:" + name} {
		if t, ok := types.TypeFunc()(full); ok && t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(base) {
			return full, t, true
		}
	}
	return "", nil, false
}

// build creates the fault.
func (f Fault) build() (types.BaseMethodFault, error) {
	_, kind, ok := faultName(f.Type)
	if !ok {
		return nil, fmt.Errorf("%q: %w", f.Type, errNoFault)
	}
	made := reflect.New(kind)
	if len(f.Fields) > 0 {
		text, err := json.Marshal(f.Fields)
		if err != nil {
			return nil, err
		}
		d := types.NewJSONDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		if err := d.Decode(made.Interface()); err != nil {
			return nil, errors.New(strings.TrimPrefix(err.Error(), "json: "))
		}
	}
	return made.Interface().(types.BaseMethodFault), nil
}

// fieldNames returns the JSON names of a struct's fields, including embedded ones.
func fieldNames(kind reflect.Type) []string {
	var names []string
	for _, f := range reflect.VisibleFields(kind) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && !f.Anonymous && name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// detail is a fault as an XML element.
type detail struct{ fault types.BaseMethodFault }

// MarshalXML writes <XFault xmlns="urn:vim25" xsi:type="X">.
func (d detail) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	kind := reflect.TypeOf(d.fault).Elem().Name()
	full, _, _ := faultName(kind)
	start.Name = xml.Name{Local: kind + "Fault"}
	start.Attr = []xml.Attr{
		{Name: xml.Name{Local: "xmlns"}, Value: "urn:vim25"},
		{Name: xml.Name{Local: "xsi:type"}, Value: full},
	}
	if prefix, _, ok := strings.Cut(full, ":"); ok {
		start.Attr = append(start.Attr, xml.Attr{Name: xml.Name{Local: "xmlns:" + prefix}, Value: "urn:" + prefix})
	}
	return e.EncodeElement(d.fault, start)
}

const (
	envelopeStart = xml.Header + `<soapenv:Envelope xmlns:soapenc="http://schemas.xmlsoap.org/soap/encoding/"` +
		` xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema"` +
		` xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>`
	envelopeEnd = `</soapenv:Body></soapenv:Envelope>`
)

// faultBody returns the envelope of a fault.
func faultBody(fault types.BaseMethodFault, message string) ([]byte, error) {
	kind := reflect.TypeOf(fault).Elem().Name()
	message = cmp.Or(message, "simulated fault: "+kind)
	var b bytes.Buffer
	b.WriteString(envelopeStart + "<soapenv:Fault><faultcode>ServerFaultCode</faultcode><faultstring>")
	_ = xml.EscapeText(&b, []byte(message)) // a buffer never fails
	b.WriteString("</faultstring><detail>")
	if err := xml.NewEncoder(&b).Encode(detail{fault}); err != nil {
		return nil, fmt.Errorf("fault %s: %w", kind, err)
	}
	b.WriteString("</detail></soapenv:Fault>" + envelopeEnd)
	return b.Bytes(), nil
}

// writeFault answers with a fault.
func (c *call) writeFault(fault types.BaseMethodFault, message string) {
	body, err := faultBody(fault, message)
	if err != nil {
		c.gate.opts.Logger.Error("fault cannot be written", "method", c.Method, "error", err)
		http.Error(c.answer, err.Error(), http.StatusInternalServerError)
		return
	}
	c.Fault = reflect.TypeOf(fault).Elem().Name()
	c.writeSOAP(http.StatusInternalServerError, body)
}

func (c *call) writeSOAP(status int, body []byte) {
	c.answer.Header().Set("Content-Type", "text/xml; charset=utf-8")
	c.answer.WriteHeader(status)
	_, _ = c.answer.Write(body) // the client may have disconnected
}

// internalError answers like a vCenter with an internal error.
func (c *call) internalError(reason string) {
	switch c.Transport {
	case SOAP:
		c.writeFault(&types.SystemError{Reason: reason}, "A general system error occurred: "+reason)
	case REST:
		c.writeRESTError(RESTError{Type: "INTERNAL_SERVER_ERROR", Message: reason})
	default:
		http.Error(c.answer, reason, http.StatusInternalServerError)
	}
}
