// The settings in groups, by what an operator wants to change.
export const settingGroups = {
  answers: ["reply_debounce_seconds", "reply_debounce_max_seconds", "streaming", "apology", "choice_hours", "introduction", "sms_answer_characters",
    "sms_answer_segments", "message_templates", "answered_countries", "ask_after_silent_days", "quiet_hours", "guardrail",
    "allowed_fallbacks", "fallback_seconds"],
  context: ["message_history_limit", "max_context_tokens", "recall_tokens", "knowledge_whole_tokens", "knowledge_tokens", "cite_by_sms", "reserved_response_tokens", "tokenizer_model", "include_system_messages",
    "conversation_gap_minutes", "context_reset_phrases", "context_enabled", "context_rollout_percent"],
  pictures: ["models_with_images", "max_images", "image_tokens", "image_detail"],
  memory: ["auto_summary", "summary_message_threshold", "consolidate", "consolidation_idle_seconds", "background_tokens_per_day"],
  money: ["prices"],
  limits: ["user_messages_per_minute", "user_tokens_per_day", "user_concurrent_runs", "user_chat_changes_per_hour", "user_reads_per_minute",
    "user_uploads_per_day", "user_segments_per_day", "new_number_segments_per_day", "user_first_contacts_per_day", "line_segments_per_day", "line_first_contacts_per_day",
    "long_code_segments_per_minute", "toll_free_segments_per_minute", "tenant_messages_per_minute", "tenant_tokens_per_day", "tenant_concurrent_runs"],
  desk: ["team_name", "desk_hours", "desk_late_minutes", "desk_silence_minutes", "desk_due_work", "desk_words", "desk_failed_answers",
    "desk_on_tool_failure", "desk_notice", "desk_notice_closed"],
  privacy: ["operators_read_chats", "visitor_days", "sharing_quiet_minutes", "message_days", "media_days", "run_days"],
};
