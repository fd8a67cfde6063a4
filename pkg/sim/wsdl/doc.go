// Package wsdl serves the description of the vSphere API: vimService.wsdl and what it imports. Clients that have no description of
// their own read it before they log in: suds (fence_vmware_soap), zeep, oslo.vmware.
//
// The documents are generated from govmomi's Go types, on the first request: from the names and XML tags of their fields. They
// describe the API version of those types, for a vCenter of any version. They differ from a vCenter's in that each method declares
// the fault RuntimeFault only, and that the types are in one file.
//
// names.txt has the names that the generator cannot derive, because govmomi's registry only reports whether a name exists: the
// methods, and the types that nothing refers to, such as most events. managed.txt has the types of managed objects and their properties,
// which the documents do not have, for [Words]. The tests with -update read both from govmomi's source.
//
// Floor 2, inside pkg/sim.
package wsdl
