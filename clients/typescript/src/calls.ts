// Calls of the HTTP API by subject, most of them for operators.
// Generated from the OpenAPI document by `make client-types`.
import type { Client, Page } from "./client.js";
import type { components, operations } from "./schema.js";

type Schemas = components["schemas"];
type Query<O extends keyof operations> = Omit<
  NonNullable<operations[O]["parameters"]["query"]>,
  "limit" | "cursor"
>;

function path(parts: TemplateStringsArray, ...values: (string | number)[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent));
}

/** Agents: their system prompts, models and tools (`client.agents`). */
export class Agents {
  constructor(private readonly client: Client) {}

  /** Update an agent. */
  change(agentId: string, body: Schemas["AgentChange"], query: Query<"change_agent"> = {}): Promise<Schemas["AgentDetail"]> {
    return this.client.call("PATCH", path`/v1/agents/${agentId}`, body, query);
  }

  /** Create an agent. */
  create(body: Schemas["NewAgent"]): Promise<Schemas["AgentDetail"]> {
    return this.client.call("POST", "/v1/agents", body);
  }

  /** Delete an agent. */
  delete(agentId: string): Promise<void> {
    return this.client.call("DELETE", path`/v1/agents/${agentId}`);
  }

  /** Get an agent. */
  get(agentId: string): Promise<Schemas["AgentDetail"]> {
    return this.client.call("GET", path`/v1/agents/${agentId}`);
  }

  /** Import an agent from a file. */
  importAgent(body: Schemas["AgentFile"], query: Query<"import_agent"> = {}): Promise<Schemas["ImportedAgent"]> {
    return this.client.call("POST", "/v1/agents/file", body, query);
  }

  /** List the agents of the directory, oldest first. */
  list(): AsyncGenerator<Schemas["ListedAgent"]> {
    return this.client.items("/v1/agents/directory");
  }

  /** List agents, oldest first. */
  listAll(): AsyncGenerator<Schemas["AgentResource"]> {
    return this.client.items("/v1/agents");
  }

  /** List an agent's chats, newest first. */
  listChats(agentId: string, query: Query<"list_agent_chats"> = {}): AsyncGenerator<Schemas["AgentChatResource"]> {
    return this.client.items(path`/v1/agents/${agentId}/chats`, query);
  }

  /** List templates for new agents. */
  async listTemplates(): Promise<Schemas["AgentTemplateResource"][]> {
    return (await this.client.call<Page<Schemas["AgentTemplateResource"]>>("GET", "/v1/agent-templates")).items;
  }

  /** List an agent's versions, newest first. */
  listVersions(agentId: string): AsyncGenerator<Schemas["AgentVersionResource"]> {
    return this.client.items(path`/v1/agents/${agentId}/versions`);
  }

  /** Restore a version of an agent. */
  restoreVersion(agentId: string, version: number, query: Query<"restore_version"> = {}): Promise<Schemas["AgentDetail"]> {
    return this.client.call("POST", path`/v1/agents/${agentId}/versions/${version}/restore`, undefined, query);
  }

  /** Update an agent from a file. */
  updateFromFile(agentId: string, body: Schemas["AgentFile"], query: Query<"update_agent_from_file"> = {}): Promise<Schemas["ImportedAgent"]> {
    return this.client.call("PUT", path`/v1/agents/${agentId}/file`, body, query);
  }
}

/** Calls of tools that wait for an operator (`client.approvals`). */
export class Approvals {
  constructor(private readonly client: Client) {}

  /** Approve or reject a tool call. */
  decide(approvalId: string, body: Schemas["ToolDecision"], query: Query<"decide"> = {}): Promise<Schemas["WaitingCallResource"]> {
    return this.client.call("POST", path`/v1/approvals/${approvalId}`, body, query);
  }

  /** Get a tool call awaiting approval. */
  get(approvalId: string, query: Query<"get_approval"> = {}): Promise<Schemas["WaitingCallResource"]> {
    return this.client.call("GET", path`/v1/approvals/${approvalId}`, undefined, query);
  }

  /** List tool calls awaiting approval, oldest first. */
  async list(): Promise<Schemas["ApprovalResource"][]> {
    return (await this.client.call<Page<Schemas["ApprovalResource"]>>("GET", "/v1/approvals")).items;
  }
}

/** Chats that people of the team take over (`client.desk`). */
export class Desk {
  constructor(private readonly client: Client) {}

  /** Update a canned answer. */
  changeCannedAnswer(answerName: string, body: Schemas["CannedAnswerChange"]): Promise<Schemas["CannedAnswerResource"]> {
    return this.client.call("PATCH", path`/v1/canned-answers/${answerName}`, body);
  }

  /** Create a canned answer. */
  createCannedAnswer(body: Schemas["NewCannedAnswer"]): Promise<Schemas["CannedAnswerResource"]> {
    return this.client.call("POST", "/v1/canned-answers", body);
  }

  /** Delete a canned answer. */
  deleteCannedAnswer(answerName: string): Promise<void> {
    return this.client.call("DELETE", path`/v1/canned-answers/${answerName}`);
  }

  /** Get a chat on the desk. */
  get(chatId: string): Promise<Schemas["DeskResource"]> {
    return this.client.call("GET", path`/v1/chats/${chatId}/desk`);
  }

  /** Get a canned answer. */
  getCannedAnswer(answerName: string): Promise<Schemas["CannedAnswerResource"]> {
    return this.client.call("GET", path`/v1/canned-answers/${answerName}`);
  }

  /** Hand a chat back. */
  handBack(chatId: string, body: Schemas["Return"]): Promise<void> {
    return this.client.call("DELETE", path`/v1/chats/${chatId}/desk`, body);
  }

  /** List the chats on the desk. */
  async list(): Promise<Schemas["DeskResource"][]> {
    return (await this.client.call<Page<Schemas["DeskResource"]>>("GET", "/v1/desk")).items;
  }

  /** List canned answers by name. */
  listCannedAnswers(): AsyncGenerator<Schemas["CannedAnswerResource"]> {
    return this.client.items("/v1/canned-answers");
  }

  /** List messages of a chat that you have taken over. */
  listHeldMessages(chatId: string, query: Query<"list_held_messages"> = {}): AsyncGenerator<Schemas["MessageResource"]> {
    return this.client.items(path`/v1/chats/${chatId}/desk/messages`, query);
  }

  /** Draft an answer, a briefing or a summary. */
  makeDraft(chatId: string, body: Schemas["DraftRequest"]): Promise<Schemas["DraftResource"]> {
    return this.client.call("POST", path`/v1/chats/${chatId}/desk/drafts`, body);
  }

  /** Post a message as the team. */
  postTeamMessage(chatId: string, body: Schemas["NewTeamMessage"]): Promise<Schemas["MessageResource"]> {
    return this.client.call("POST", path`/v1/chats/${chatId}/desk/messages`, body);
  }

  /** Add a chat to the desk. */
  requestPerson(chatId: string, query: Query<"request_person"> = {}): Promise<Schemas["DeskResource"]> {
    return this.client.call("POST", path`/v1/chats/${chatId}/desk`, undefined, query);
  }

  /** Take a chat over. */
  takeOver(chatId: string, body: Schemas["NewHolder"], query: Query<"take_over"> = {}): Promise<Schemas["DeskResource"]> {
    return this.client.call("PUT", path`/v1/chats/${chatId}/desk`, body, query);
  }
}

/** Phone numbers on which agents receive and send SMS (`client.lines`). */
export class Lines {
  constructor(private readonly client: Client) {}

  /** Update a line. */
  change(phone: string, body: Schemas["LineChange"]): Promise<Schemas["LineResource"]> {
    return this.client.call("PATCH", path`/v1/lines/${phone}`, body);
  }

  /** Connect a phone number to an agent. */
  create(body: Schemas["NewLine"]): Promise<Schemas["LineResource"]> {
    return this.client.call("POST", "/v1/lines", body);
  }

  /** Delete a line. */
  delete(phone: string): Promise<void> {
    return this.client.call("DELETE", path`/v1/lines/${phone}`);
  }

  /** Get a line. */
  get(phone: string): Promise<Schemas["LineResource"]> {
    return this.client.call("GET", path`/v1/lines/${phone}`);
  }

  /** List lines by number. */
  list(): AsyncGenerator<Schemas["LineResource"]> {
    return this.client.items("/v1/lines");
  }
}

/** Plans: future runs of agents, once or recurring (`client.plans`). */
export class Plans {
  constructor(private readonly client: Client) {}

  /** Cancel a plan. */
  cancel(agentId: string, planId: string, query: Query<"cancel_plan"> = {}): Promise<void> {
    return this.client.call("DELETE", path`/v1/agents/${agentId}/plans/${planId}`, undefined, query);
  }

  /** Cancel or restore a plan. */
  change(agentId: string, planId: string, body: Schemas["PlanChange"], query: Query<"change_plan"> = {}): Promise<Schemas["PlanResource"]> {
    return this.client.call("PATCH", path`/v1/agents/${agentId}/plans/${planId}`, body, query);
  }

  /** Create a plan. */
  create(agentId: string, body: Schemas["NewPlan"], query: Query<"create_plan"> = {}): Promise<Schemas["PlanResource"]> {
    return this.client.call("POST", path`/v1/agents/${agentId}/plans`, body, query);
  }

  /** Get a plan. */
  get(agentId: string, planId: string, query: Query<"get_plan"> = {}): Promise<Schemas["PlanResource"]> {
    return this.client.call("GET", path`/v1/agents/${agentId}/plans/${planId}`, undefined, query);
  }

  /** List an agent's plans, active first. */
  list(agentId: string, query: Query<"list_plans"> = {}): AsyncGenerator<Schemas["PlanResource"]> {
    return this.client.items(path`/v1/agents/${agentId}/plans`, query);
  }
}

/** Tools of your own: services that agents call (`client.tools`). */
export class Tools {
  constructor(private readonly client: Client) {}

  /** Approve a tool of an MCP server. */
  approveOffered(name: string, body: Schemas["ServerToolApproval"]): Promise<Schemas["ToolResource"]> {
    return this.client.call("POST", path`/v1/tools/${name}/offered`, body);
  }

  /** Update a tool. */
  change(name: string, body: Schemas["ToolChange"]): Promise<Schemas["ToolResource"]> {
    return this.client.call("PATCH", path`/v1/tools/${name}`, body);
  }

  /** Create a custom tool. */
  create(body: Schemas["NewTool"]): Promise<Schemas["ToolWithSecret"]> {
    return this.client.call("POST", "/v1/tools", body);
  }

  /** Delete a tool. */
  delete(name: string): Promise<void> {
    return this.client.call("DELETE", path`/v1/tools/${name}`);
  }

  /** Get a tool. */
  get(name: string): Promise<Schemas["ToolResource"]> {
    return this.client.call("GET", path`/v1/tools/${name}`);
  }

  /** List custom tools by name. */
  list(): AsyncGenerator<Schemas["ToolResource"]> {
    return this.client.items("/v1/tools");
  }

  /** List the tools of an MCP server. */
  async listOffered(name: string): Promise<Schemas["OfferedToolResource"][]> {
    return (await this.client.call<Page<Schemas["OfferedToolResource"]>>("GET", path`/v1/tools/${name}/offered`)).items;
  }

  /** List a tool's versions, newest first. */
  listVersions(name: string): AsyncGenerator<Schemas["ToolVersionResource"]> {
    return this.client.items(path`/v1/tools/${name}/versions`);
  }

  /** Restore a version of a tool. */
  restoreVersion(name: string, version: number): Promise<Schemas["ToolResource"]> {
    return this.client.call("POST", path`/v1/tools/${name}/versions/${version}/restore`);
  }

  /** Rotate a tool's secret. */
  rotateSecret(name: string): Promise<Schemas["ToolWithSecret"]> {
    return this.client.call("POST", path`/v1/tools/${name}/secret`);
  }

  /** Test a tool. */
  tryTool(name: string, body: Schemas["ToolTrial"]): Promise<Schemas["TrialResource"]> {
    return this.client.call("POST", path`/v1/tools/${name}/try`, body);
  }
}

/** People, as operators manage them (`client.users`). */
export class Users {
  constructor(private readonly client: Client) {}

  /** Update a user. */
  change(userId: string, body: Schemas["UserChange"], query: Query<"change_user"> = {}): Promise<Schemas["UserDetail"]> {
    return this.client.call("PATCH", path`/v1/users/${userId}`, body, query);
  }

  /** Create a user. */
  create(body: Schemas["NewUser"]): Promise<Schemas["UserDetail"]> {
    return this.client.call("POST", "/v1/users", body);
  }

  /** Get a user. */
  get(userId: string, query: Query<"get_user"> = {}): Promise<Schemas["UserDetail"]> {
    return this.client.call("GET", path`/v1/users/${userId}`, undefined, query);
  }

  /** Link a phone number to a user. */
  linkNumber(userId: string, phone: string, body: Schemas["GivenCode"]): Promise<Schemas["UserDetail"]> {
    return this.client.call("PUT", path`/v1/users/${userId}/phones/${phone}`, body);
  }

  /** List users by id. */
  list(query: Query<"list_users"> = {}): AsyncGenerator<Schemas["UserResource"]> {
    return this.client.items("/v1/users", query);
  }

  /** List a user's direct chats, newest first. */
  listDirectChats(userId: string): AsyncGenerator<Schemas["DirectChatResource"]> {
    return this.client.items(path`/v1/users/${userId}/chats`);
  }

  /** List consents for a phone number. */
  async listTextConsents(userId: string, phone: string): Promise<Schemas["TextConsentResource"][]> {
    return (await this.client.call<Page<Schemas["TextConsentResource"]>>("GET", path`/v1/users/${userId}/phones/${phone}/consents`)).items;
  }

  /** Record a person's consent to messages. */
  recordTextConsent(userId: string, phone: string, channel: Schemas["ReachingChannel"], body: Schemas["NewTextConsent"]): Promise<Schemas["TextConsentResource"]> {
    return this.client.call("PUT", path`/v1/users/${userId}/phones/${phone}/consents/${channel}`, body);
  }

  /** Revoke a person's consent to messages. */
  revokeTextConsent(userId: string, phone: string, channel: Schemas["ReachingChannel"]): Promise<void> {
    return this.client.call("DELETE", path`/v1/users/${userId}/phones/${phone}/consents/${channel}`);
  }

  /** Send a code to a phone number, to link it to a user. */
  sendCode(userId: string, phone: string): Promise<Schemas["SentCode"]> {
    return this.client.call("POST", path`/v1/users/${userId}/phones/${phone}/code`);
  }

  /** Sign a user out. */
  signOut(userId: string): Promise<void> {
    return this.client.call("POST", path`/v1/users/${userId}/sign-out`);
  }

  /** Undo an agent's change to a user's profile. */
  undoProfileChange(userId: string, profileChangeId: string, query: Query<"undo_profile_change"> = {}): Promise<Schemas["UserDetail"]> {
    return this.client.call("POST", path`/v1/users/${userId}/profile-changes/${profileChangeId}/undo`, undefined, query);
  }

  /** Unlink a phone number from a user. */
  unlinkNumber(userId: string, phone: string): Promise<void> {
    return this.client.call("DELETE", path`/v1/users/${userId}/phones/${phone}`);
  }
}
