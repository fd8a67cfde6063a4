package scenario

import (
	"maps"

	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/event"
	"github.com/vsphere-sandbox/vsphere-sandbox/pkg/sandbox/api/world"
)

// statementSchema returns the schema of a statement, or of a list of statements that must all be true.
func statementSchema() object {
	return object{"anyOf": []any{ref("one"), listOf(ref("one"))}}
}

func statementSchemas() []any {
	var all []any
	for _, kind := range world.Kinds() {
		all = append(all, rowsSchema(kind))
	}
	count := func(what string) object { return described(what, scalar()) }
	since := described("The start of counting: start, step, or the name of a step.", text())
	order := object{"type": "array", "minItems": 2, "items": ref("event")}
	return append(all,
		closed("An event happened, or how often.", object{"event": ref("event")}, "event"),
		closed("Events happened in this order.", object{"events": object{"anyOf": []any{
			order, closed("", object{"order": order, "caused": described("Each is caused by the one before.", scalar()), "since": since}, "order"),
		}}}, "events"),
		closed("The number of calls to vCenters.", object{"calls": closed("", object{
			"vcenter": text(), "client": described("ccm, csi, govc, sandbox, or a part of a User-Agent.", text()), "method": oneOrMore(),
			"count": count(`How many: 3, ">= 2".`), "errors": count("How many of them failed."), "since": since,
		})}, "calls"),
		closed("A log has a line, or how many.", object{"log": closed("", object{
			"component": text(), "matches": described("A regular expression that matches the line.", text()), "count": count(`How many: 3, ">= 2".`), "since": since,
		}, "component", "matches")}, "log"),
		closed("The value of a metric.", object{"metric": closed("", object{
			"component": text(), "name": text(), "labels": mapOf(scalar()), "value": count(`The sum of its series: 3, ">= 2".`), "since": since,
		}, "component", "name", "value")}, "metric"),
		closed("All of these.", object{"all": listOf(ref("one"))}, "all"),
		closed("One of these.", object{"any": listOf(ref("one"))}, "any"),
	)
}

// rowsSchema returns the schema of a statement about objects of a kind.
func rowsSchema(kind world.Kind) object {
	fields := object{}
	for _, f := range kind.Fields() {
		fields[f.Name] = ref("value")
	}
	whole := object{"exists": scalar(), "count": described(`How many: 3, ">= 2"; default all.`, scalar())}
	maps.Copy(whole, fields)
	if kind == world.Node {
		whole["noTaints"] = described("Taints that are not allowed.", oneOrMore())
	}
	whole[string(kind)] = object{
		"description": "A name, names, all, or fields that select objects.", "anyOf": []any{oneOrMore(), closed("", fields)},
	}
	return closed("", whole, string(kind))
}

// valueSchema returns the schema of the value of a field.
func valueSchema() object {
	one := object{"type": []string{"string", "number", "boolean", "null"}}
	return object{
		"description": `A text (* and ? are wildcards, /…/ a regular expression), a number or ">= 2", a list, or not: VALUE.`,
		"anyOf":       []any{one, listOf(one), object{"type": "object"}},
	}
}

func eventSchema() object {
	return closed("An event of the sandbox's log.", object{
		"kind": described("A pattern: node.deleted, vm.*", text()), "object": described("The object: worker-1, us/worker-1.", scalar()), "vcenter": text(),
		"plane":   object{"enum": []string{string(event.PlaneSandbox), string(event.PlaneVSphere), string(event.PlaneKubernetes)}},
		"level":   object{"enum": []string{string(event.Info), string(event.Warning), string(event.Error)}},
		"message": described("A regular expression that matches its message.", text()),
		"cause":   object{"description": "The name of a step, a kind of event, or an event among its causes.", "anyOf": []any{text(), ref("event")}},
		"count":   described(`How many: 3, ">= 2"; default at least one.`, scalar()), "since": described("The start of counting: start, step, or the name of a step.", text()),
	})
}
