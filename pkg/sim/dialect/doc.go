// Package dialect adapts the answers of vcsim's SOAP endpoints to clients that are stricter than govmomi:
//
//   - The elements of an array value carry their type (xsi:type). libvirt's ESX driver and WSDL clients read it.
//   - A client that asks for a version of the API before 6.8 (in its SOAPAction header) gets no property that is newer. The
//     client libraries of that time refuse what they do not know: pyvmomi 6.7.1 cannot log in otherwise.
//   - A client that asks for a version of the storage policies' API gets no names for Kubernetes, which pyvmomi refuses.
//   - vimServiceVersions.xml lists all prior versions, from which a client chooses the newest that it knows.
//
// A vCenter does all that; vcsim v0.56 does none.
//
// Floor 2, inside pkg/sim.
package dialect
