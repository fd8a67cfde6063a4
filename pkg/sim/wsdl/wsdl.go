package wsdl

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"path"
	"sync"

	"github.com/vmware/govmomi/vim25"
)

// Paths returns the paths that [Handler] serves.
func Paths() []string {
	return []string{vim25.Path + "/" + serviceFile, vim25.Path + "/" + interfaceFile, vim25.Path + "/" + typesFile}
}

const (
	serviceFile   = "vimService.wsdl"
	interfaceFile = "vim.wsdl"
	typesFile     = "vim-types.xsd"
)

// Handler serves the documents. It needs no session, as on a vCenter.
func Handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed)
			return
		}
		var doc []byte
		switch path.Base(r.URL.Path) {
		case serviceFile:
			doc = service(r.Host)
		case interfaceFile:
			doc = documents().service
		case typesFile:
			doc = documents().types
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/xml; charset=utf-8")
		_, _ = w.Write(doc)
	})
}

// service returns vimService.wsdl for the address that the client uses.
func service(host string) []byte {
	var address bytes.Buffer
	_ = xml.EscapeText(&address, []byte("https://"+host+vim25.Path))
	var out bytes.Buffer
	fmt.Fprintf(&out, xml.Header+`<definitions targetNamespace="urn:vim25Service" xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/" xmlns:vim25="urn:vim25">
  <import namespace="urn:vim25" location="%s"/>
  <service name="VimService">
    <port name="VimPort" binding="vim25:VimBinding">
      <soap:address location="%s"/>
    </port>
  </service>
</definitions>
`, interfaceFile, &address)
	return out.Bytes()
}

// generated are the documents that do not depend on the request.
type generated struct{ service, types []byte }

var documents = sync.OnceValue(func() generated {
	m := newModel()
	var api, schema bytes.Buffer
	m.writeInterface(&api)
	m.writeTypes(&schema)
	return generated{api.Bytes(), schema.Bytes()}
})

// writeInterface writes vim.wsdl: elements, messages, operations and how they are bound to SOAP.
func (m *model) writeInterface(w io.Writer) {
	p := func(format string, args ...any) { fmt.Fprintf(w, format, args...) }
	p("%s", xml.Header+`<definitions targetNamespace="urn:vim25" xmlns="http://schemas.xmlsoap.org/wsdl/" xmlns:soap="http://schemas.xmlsoap.org/wsdl/soap/" xmlns:vim25="urn:vim25" xmlns:xsd="http://www.w3.org/2001/XMLSchema">
  <types>
    <xsd:schema targetNamespace="urn:vim25" elementFormDefault="qualified">
      <xsd:include schemaLocation="`+typesFile+`"/>
      <xsd:element name="versionURI" type="xsd:string"/>
`)
	for _, name := range m.methods {
		p("      <xsd:element name=%q type=\"vim25:%s\"/>\n", name, requestOf(name))
		p("      <xsd:element name=\"%sResponse\"><xsd:complexType><xsd:sequence>\n", name)
		if result, ok := m.results[name]; ok {
			p("        %s\n", result)
		}
		p("      </xsd:sequence></xsd:complexType></xsd:element>\n")
	}
	for _, name := range m.faults {
		p("      <xsd:element name=\"%sFault\" type=\"vim25:%s\"/>\n", name, name)
	}
	p("    </xsd:schema>\n  </types>\n")
	p("  <message name=\"RuntimeFaultFaultMsg\"><part name=\"fault\" element=\"vim25:RuntimeFaultFault\"/></message>\n")
	for _, name := range m.methods {
		p("  <message name=\"%sRequestMsg\"><part name=\"parameters\" element=\"vim25:%s\"/></message>\n", name, name)
		p("  <message name=\"%sResponseMsg\"><part name=\"parameters\" element=\"vim25:%sResponse\"/></message>\n", name, name)
	}
	p("  <portType name=\"VimPortType\">\n")
	for _, name := range m.methods {
		p("    <operation name=%q>\n      <input message=\"vim25:%sRequestMsg\"/>\n      <output message=\"vim25:%sResponseMsg\"/>\n"+
			"      <fault name=\"RuntimeFault\" message=\"vim25:RuntimeFaultFaultMsg\"/>\n    </operation>\n", name, name, name)
	}
	p("  </portType>\n  <binding name=\"VimBinding\" type=\"vim25:VimPortType\">\n" +
		"    <soap:binding style=\"document\" transport=\"http://schemas.xmlsoap.org/soap/http\"/>\n")
	for _, name := range m.methods {
		p("    <operation name=%q>\n      <soap:operation soapAction=\"urn:vim25\" style=\"document\"/>\n"+
			"      <input><soap:body use=\"literal\"/></input>\n      <output><soap:body use=\"literal\"/></output>\n"+
			"      <fault name=\"RuntimeFault\"><soap:fault name=\"RuntimeFault\" use=\"literal\"/></fault>\n    </operation>\n", name)
	}
	p("  </binding>\n</definitions>\n")
}
